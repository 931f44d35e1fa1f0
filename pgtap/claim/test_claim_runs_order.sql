begin;
select plan(6);

select dispatch_test.set_clock('2030-01-15 12:00:00+00');
select dispatch.put_workspace(dispatch_test.id(1), 'Works');
select dispatch.put_member(dispatch_test.id(1), dispatch_test.id(2), 'Ana');
select dispatch.put_runtime(dispatch_test.id(1), dispatch_test.id(3), 'daemon-1');
select dispatch.heartbeat(dispatch_test.id(1), array[dispatch_test.id(3)]);
select dispatch.put_agent(
    dispatch_test.id(1), dispatch_test.id(4), 'alpha', dispatch_test.id(2), dispatch_test.id(3)
);
select dispatch.put_agent(
    dispatch_test.id(1), dispatch_test.id(5), 'beta', dispatch_test.id(2), dispatch_test.id(3)
);
insert into dispatch.issue (
    workspace_id, id, number, title, status, priority, creator_type, created_at, updated_at
)
select
    dispatch_test.id(1), dispatch_test.id(100 + n), n, 'issue', 'todo', 'none', 'system',
    dispatch.clock(), dispatch.clock()
from generate_series(1, 6) as n;

select dispatch.put_runtime(dispatch_test.id(1), dispatch_test.id(6), 'daemon-1');
select dispatch.heartbeat(dispatch_test.id(1), array[dispatch_test.id(6)]);
create function pg_temp.ask(p_agent integer, p_issue integer, p_priority integer)
returns uuid
language sql
as $fn$
    select d.run_id
    from dispatch.queue_wake(
        dispatch_test.id(1), dispatch_test.id(p_agent), 'mention',
        p_issue_id => dispatch_test.id(100 + p_issue), p_priority => p_priority
    ) as d;
$fn$;
create function pg_temp.claimed(p_max integer, p_per_agent integer default 1)
returns text
language sql
as $fn$
    select string_agg(format('%s/%s', a.name, c.priority), ' ' order by c.ordinality)
    from dispatch.claim_runs(
        dispatch_test.id(1), array[dispatch_test.id(3), dispatch_test.id(6)], p_max, p_per_agent
    ) with ordinality as c
    inner join dispatch.agent as a on a.workspace_id = c.workspace_id and a.id = c.agent_id;
$fn$;
select pg_temp.ask(4, 1, 1), pg_temp.ask(5, 1, 2), pg_temp.ask(4, 2, 3), pg_temp.ask(5, 2, 4);

select is(
    pg_temp.claimed(1), 'beta/4', 'R05: of all agents the run of highest priority is first'
);
select is(pg_temp.claimed(2), 'alpha/3 beta/2', 'R05: then the next, in one order over all');
select is(pg_temp.claimed(9), 'alpha/1', 'R05: and the last');

-- one run of alpha is left on the first runtime, a younger and more urgent one on the second
create temp table run on commit drop as select pg_temp.ask(4, 3, 5) as old;
select count(*) from dispatch.claim_run(dispatch_test.id(1), dispatch_test.id(4));
select dispatch.bind_agent(dispatch_test.id(1), dispatch_test.id(4), dispatch_test.id(6));
select dispatch.requeue_run(dispatch_test.id(1), (select r.old from run as r), 1);
select pg_temp.ask(4, 4, 7);
select is(
    pg_temp.claimed(9), 'alpha/7',
    'C11: an agent gets one run in a call although it has some on two runtimes, the best'
);
select is(pg_temp.claimed(9, 9), 'alpha/5', 'and in the next call the other');
select pg_temp.ask(4, 5, 0), pg_temp.ask(4, 6, 6), pg_temp.ask(5, 6, 5);
select is(
    pg_temp.claimed(9, 9), 'alpha/6 beta/5 alpha/0', 'R03: the answer is in claim order'
);

select * from finish();
rollback;

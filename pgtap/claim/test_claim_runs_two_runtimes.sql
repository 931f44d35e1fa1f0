begin;
select plan(5);

select dispatch_test.set_clock('2030-01-15 12:00:00+00');
select dispatch.put_workspace(dispatch_test.id(1), 'Works');
select dispatch.put_member(dispatch_test.id(1), dispatch_test.id(2), 'Ana');
select dispatch.put_runtime(dispatch_test.id(1), dispatch_test.id(3), 'daemon-1');
select dispatch.heartbeat(dispatch_test.id(1), array[dispatch_test.id(3)]);
select dispatch.put_agent(
    dispatch_test.id(1), dispatch_test.id(4), 'alpha', dispatch_test.id(2), dispatch_test.id(3)
);
insert into dispatch.issue (
    workspace_id, id, number, title, status, priority, creator_type, created_at, updated_at
)
select
    dispatch_test.id(1), dispatch_test.id(100 + n), n, 'issue', 'todo', 'none', 'system',
    dispatch.clock(), dispatch.clock()
from generate_series(1, 1) as n;

create function pg_temp.wake(
    p_issue integer,
    p_payload jsonb default '{}',
    p_priority integer default 0
)
returns uuid
language sql
as $fn$
    select d.run_id
    from dispatch.queue_wake(
        dispatch_test.id(1), dispatch_test.id(4), 'mention', p_payload,
        p_issue_id => dispatch_test.id(100 + p_issue), p_priority => p_priority
    ) as d;
$fn$;

select dispatch.put_runtime(dispatch_test.id(1), dispatch_test.id(6), 'daemon-1');
select dispatch.heartbeat(dispatch_test.id(1), array[dispatch_test.id(6)]);
select dispatch.put_agent(
    dispatch_test.id(1), dispatch_test.id(4), 'alpha', dispatch_test.id(2),
    p_max_concurrent_runs => 2
);
create function pg_temp.chat(p_priority integer)
returns uuid
language sql
as $fn$
    select d.run_id
    from dispatch.queue_wake(
        dispatch_test.id(1), dispatch_test.id(4), 'chat', p_priority => p_priority,
        p_chat_session_id => dispatch_test.id(50)
    ) as d;
$fn$;
-- a run of the chat is given back on the first runtime after the agent moved to the second
create temp table run on commit drop as select pg_temp.chat(9) as first;
select count(*) from dispatch.claim_run(dispatch_test.id(1), dispatch_test.id(4));
select dispatch.bind_agent(dispatch_test.id(1), dispatch_test.id(4), dispatch_test.id(6));
select dispatch.requeue_run(dispatch_test.id(1), (select r.first from run as r), 1);
create temp table later on commit drop as
select pg_temp.chat(8) as second, pg_temp.wake(1, '{}', 1) as other;

select results_eq(
    $$
    select r.id, r.runtime_id from dispatch.run as r where r.status = 'queued' order by r.id
    $$,
    $$
    select r.first, dispatch_test.id(3) from run as r
    union all
    select u.id, dispatch_test.id(6)
    from later as l
    cross join lateral unnest(array[l.second, l.other]) as u (id)
    $$,
    'one agent may have runs on two runtimes'
);
create temp table taken on commit drop as
select c.run_id
from dispatch.claim_runs(
    dispatch_test.id(1), array[dispatch_test.id(3), dispatch_test.id(6)], 9, 9
) as c;
select is_empty(
    'select t.run_id from taken as t inner join later as l on l.second = t.run_id',
    'R03: of one chat one run is claimed, on whichever runtime'
);
select set_eq(
    'select t.run_id from taken as t',
    $$
    select r.first as run_id from run as r
    union all
    select l.other from later as l
    $$,
    'R04: and the one that must wait for it hides no other'
);
select is(
    (
        select count(*)
        from dispatch.run as r
        where r.status in ('dispatched', 'waiting_local_directory', 'running')
    ),
    2::bigint,
    'R01: the capacity counts over all runtimes'
);
select is_empty(
    $$
    select c.run_id
    from dispatch.claim_runs(
        dispatch_test.id(1), array[dispatch_test.id(3), dispatch_test.id(6)], 9, 9
    ) as c
    $$,
    'R01: so there is nothing more to claim'
);

select * from finish();
rollback;

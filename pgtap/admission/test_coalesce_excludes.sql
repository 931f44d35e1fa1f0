begin;
select plan(16);

select dispatch_test.set_clock('2030-01-15 12:00:00+00');
select dispatch.put_workspace(dispatch_test.id(1), 'Works');
select dispatch.put_member(dispatch_test.id(1), dispatch_test.id(2), 'Ana');
select dispatch.put_runtime(dispatch_test.id(1), dispatch_test.id(3), 'daemon-1');
select dispatch.heartbeat(dispatch_test.id(1), array[dispatch_test.id(3)]);
select dispatch.put_agent(
    dispatch_test.id(1), dispatch_test.id(10 + n), 'agent ' || n, dispatch_test.id(2),
    dispatch_test.id(3)
)
from generate_series(1, 12) as n;
insert into dispatch.issue (
    workspace_id, id, number, title, status, priority, creator_type, created_at, updated_at
)
select
    dispatch_test.id(1), dispatch_test.id(100 + n), n, 'issue', 'todo', 'none', 'system',
    dispatch.clock(), dispatch.clock()
from generate_series(1, 3) as n;

create function pg_temp.ask(
    p_agent integer,
    p_reason text default 'mention',
    p_key text default null,
    p_issue integer default 1,
    p_chat integer default null,
    p_coalesce boolean default true
)
returns text
language sql
as $fn$
    select d.outcome::text
    from dispatch.queue_wake(
        dispatch_test.id(1), dispatch_test.id(10 + p_agent), p_reason, '{}', p_key,
        dispatch_test.id(100 + p_issue), dispatch_test.id(p_chat), p_coalesce => p_coalesce
    ) as d;
$fn$;
create function pg_temp.run_of(p_agent integer) returns uuid
language sql
as $fn$
    select r.id
    from dispatch.run as r
    where r.agent_id = dispatch_test.id(10 + p_agent) and r.status = 'queued'
    limit 1;
$fn$;
-- Every first wake below is the only run of its agent.
select pg_temp.ask(1), pg_temp.ask(2, p_key => 'task_comment:c1'), pg_temp.ask(3);
select pg_temp.ask(4), pg_temp.ask(5), pg_temp.ask(6, p_issue => null, p_chat => 90);
select pg_temp.ask(7, p_issue => null), pg_temp.ask(8), pg_temp.ask(9), pg_temp.ask(10);

select is(pg_temp.ask(1, 'other'), 'absorbed', 'another reason does not merge');
select is(pg_temp.ask(2), 'absorbed', 'T50: nor does a wake into a comment''s run');
select is(
    pg_temp.ask(3, p_key => 'task_comment:c2'), 'absorbed',
    'T50: nor a comment''s wake into a run'
);
select is(
    pg_temp.ask(3, p_key => 'taskXcomment:c2') || ' '
    || pg_temp.ask(3, p_key => 'Task_comment:'),
    'coalesced coalesced',
    'T50: the beginning of the key is taken literally'
);
select is(pg_temp.ask(4, p_coalesce => false), 'absorbed', 'nor one that asks not to');
select dispatch.claim_run(dispatch_test.id(1), dispatch_test.id(15));
select is(pg_temp.ask(5), 'absorbed', 'R11: a run that was claimed never merges');
select is(
    pg_temp.ask(6, p_issue => null, p_chat => 90), 'queued', 'chat wakes never merge'
);
select is(pg_temp.ask(7, p_issue => null), 'queued', 'R13: nor do wakes without an issue');
select is(pg_temp.ask(8, p_issue => 2), 'queued', 'nor do wakes of two issues');
select is(pg_temp.ask(9, p_chat => 91), 'absorbed', 'nor a chat wake into an issue''s run');

update dispatch.run_detail as d
set parent_run_id = d.run_id
where d.run_id = pg_temp.run_of(10);
select is(pg_temp.ask(10), 'absorbed', 'nor a wake into a retry');
update dispatch.run_detail as d
set parent_run_id = null, rerun_of_run_id = d.run_id
where d.run_id = pg_temp.run_of(10);
select is(pg_temp.ask(10), 'absorbed', 'nor one into a rerun');
update dispatch.run_detail as d
set rerun_of_run_id = null, autopilot_run_id = d.run_id
where d.run_id = pg_temp.run_of(10);
select is(pg_temp.ask(10), 'absorbed', 'nor one into an autopilot''s run');
update dispatch.run_detail as d
set autopilot_run_id = null
where d.run_id = pg_temp.run_of(10);
select is(pg_temp.ask(10), 'coalesced', 'an ordinary run merges');

select is(
    (
        select d.outcome::text
        from dispatch.queue_wake(
            dispatch_test.id(1), dispatch_test.id(20), 'mention',
            p_issue_id => dispatch_test.id(101), p_fire_at => '2030-01-15 12:00:01+00'
        ) as d
    ),
    'deferred',
    'a deferred wake has no slot'
);
select is(pg_temp.ask(10), 'coalesced', 'it merges with nothing, before it is due');

select * from finish();
rollback;

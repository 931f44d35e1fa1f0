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
insert into dispatch.issue (
    workspace_id, id, number, title, status, priority, creator_type, created_at, updated_at
)
select
    dispatch_test.id(1), dispatch_test.id(100 + n), n, 'issue', 'todo', 'none', 'system',
    dispatch.clock(), dispatch.clock()
from generate_series(1, 3) as n;

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

create temp table run on commit drop as
select pg_temp.wake(1) as a, pg_temp.wake(2) as b, pg_temp.wake(3) as c;
select count(*) from dispatch.claim_runs(dispatch_test.id(1), array[dispatch_test.id(3)], 3, 3);
create function pg_temp.retry_of(p_run_id uuid)
returns text
language sql
as $fn$
    select case when t.retry_run_id is not null then 'retry' else 'none' end
    from dispatch.fail_run(dispatch_test.id(1), p_run_id, 1, 'timeout') as t;
$fn$;

select dispatch.set_agent_status(dispatch_test.id(1), dispatch_test.id(4), 'paused');
insert into dispatch.workspace_pause (
    workspace_id, id, reason, paused_at, paused_by_type
)
values (dispatch_test.id(1), dispatch_test.id(90), 'stop', dispatch.clock(), 'system');
select is(
    pg_temp.retry_of((select r.a from run as r)), 'retry',
    'R17: a failure during a pause has its retry'
);
select is_empty(
    'select c.run_id from dispatch.claim_run(dispatch_test.id(1), dispatch_test.id(4)) as c',
    'R17: which stays queued'
);
update dispatch.workspace_pause as p
set released_at = dispatch.clock(), released_by_type = 'system';
select dispatch.set_agent_status(dispatch_test.id(1), dispatch_test.id(4), 'active');
select is(
    (
        select c.attempt
        from dispatch.claim_run(dispatch_test.id(1), dispatch_test.id(4)) as c
    ),
    2,
    'R17: until the pause ends'
);
select dispatch.put_workspace(
    dispatch_test.id(1), 'Works', p_attribution_policy => 'fail_closed'
);
select is(
    pg_temp.retry_of((select r.b from run as r)), 'retry',
    'a retry is no new act: no attribution is asked for'
);
select dispatch.bind_agent(dispatch_test.id(1), dispatch_test.id(4), null);
select is(
    pg_temp.retry_of((select r.c from run as r)), 'retry',
    'the retry of an unbound agent waits on the runtime of its parent'
);
select is(
    (
        select count(*)
        from dispatch.runs as v
        where v.parent_run_id is not null and v.runtime_id = dispatch_test.id(3)
    ),
    3::bigint,
    'R15: three failures, three children'
);

select * from finish();
rollback;

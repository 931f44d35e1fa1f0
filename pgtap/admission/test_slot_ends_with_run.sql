begin;
select plan(11);

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

create function pg_temp.wake(
    p_agent integer,
    p_issue integer,
    p_payload jsonb,
    p_key text default null,
    p_reason text default 'task_assigned'
)
returns text
language sql
as $fn$
    select d.outcome || ' ' || d.reason_code
    from dispatch.queue_wake(
        dispatch_test.id(1), dispatch_test.id(10 + p_agent), p_reason, p_payload, p_key,
        dispatch_test.id(100 + p_issue)
    ) as d;
$fn$;

create function pg_temp.run_of(p_agent integer) returns uuid
language sql
as $fn$
    select r.id
    from dispatch.run as r
    where r.agent_id = dispatch_test.id(10 + p_agent)
    order by r.id desc
    limit 1;
$fn$;
-- Runs of four agents: one to be cancelled, and three that run.
select pg_temp.wake(n, 1, '{}', 'k' || n, 'work') from generate_series(1, 4) as n;
select dispatch.start_run(dispatch_test.id(1), c.run_id, 1)
from dispatch.claim_runs(dispatch_test.id(1), array[dispatch_test.id(3)], 9) as c
where c.agent_id <> dispatch_test.id(11);
select dispatch.cancel_run(dispatch_test.id(1), pg_temp.run_of(1), 'system');
select dispatch.complete_run(dispatch_test.id(1), pg_temp.run_of(2), 1);
select dispatch.fail_run(dispatch_test.id(1), pg_temp.run_of(3), 1, 'agent_error.refused');
select is(
    (select string_agg(r.status::text, ' ' order by r.agent_id) from dispatch.run as r),
    'cancelled completed failed running',
    'R12: three runs have ended, one is under way'
);
select is(
    pg_temp.wake(n, 1, '{}', null, 'work'), 'queued queued',
    'R12: the slot is free after the end of run ' || n
)
from generate_series(1, 3) as n;
select is(
    pg_temp.wake(n, 1, '{}', 'k' || n, 'work'), 'deduplicated duplicate_recent',
    'R12: the key stays taken, by run ' || n
)
from generate_series(1, 4) as n;
select count(*) from dispatch.recover_runtime(dispatch_test.id(1), dispatch_test.id(3));
select is(
    (
        select string_agg(r.status::text, ' ' order by r.id)
        from dispatch.run as r
        where r.agent_id = dispatch_test.id(14)
    ),
    'failed queued',
    'R12: the run whose runtime was lost has a retry'
);
select is(
    pg_temp.wake(4, 1, '{}', null, 'work'), 'absorbed already_active',
    'R12: which holds the slot and merges with nothing'
);
select dispatch.cancel_run(dispatch_test.id(1), pg_temp.run_of(4), 'system');
select is(
    pg_temp.wake(4, 1, '{}', null, 'work'), 'queued queued', 'R12: until it ends as well'
);

select * from finish();
rollback;

begin;
select plan(12);

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

create function pg_temp.counters() returns text
language sql
as $fn$
    select string_agg(c.reason || '=' || c.value, ' ' order by c.reason)
    from dispatch.gate_counters as c
    where c.value > 0;
$fn$;

create function pg_temp.statuses() returns text
language sql
as $fn$
    select string_agg(format('%s %s', right(r.agent_id::text, 2), r.status), ', ' order by r.id)
    from dispatch.run as r;
$fn$;
-- A running, a dispatched, a queued and a deferred run.
select pg_temp.wake(n, 1, '{}', 'k' || n, 'work') from generate_series(1, 3) as n;
select dispatch.queue_wake(
    dispatch_test.id(1), dispatch_test.id(14), 'work', p_issue_id => dispatch_test.id(101),
    p_fire_at => '2030-01-15 12:00:10+00'
);
select dispatch.start_run(dispatch_test.id(1), c.run_id, 1)
from dispatch.claim_run(dispatch_test.id(1), dispatch_test.id(11)) as c;
select count(*) from dispatch.claim_run(dispatch_test.id(1), dispatch_test.id(12));
select dispatch.pause_workspace(dispatch_test.id(1), 'system', p_reason => 'halt');
select dispatch_test.advance_clock(interval '2 minutes');
select dispatch.heartbeat(dispatch_test.id(1), array[dispatch_test.id(3)]);

select is(
    pg_temp.statuses(), '11 running, 12 dispatched, 13 queued, 14 deferred',
    'a pause touches no run'
);
select is(
    (
        (select count(*) from dispatch.claim_run(dispatch_test.id(1), dispatch_test.id(13)))
        + (
            select count(*)
            from dispatch.claim_runs(dispatch_test.id(1), array[dispatch_test.id(3)], 9, 9)
        )
        + (
            select count(*)
            from dispatch.reclaim_runs(dispatch_test.id(1), array[dispatch_test.id(3)], 9)
        )
        + dispatch.promote_deferred(dispatch_test.id(1))
    ),
    0::bigint,
    'R17: nothing is claimed, reclaimed or promoted'
);
select is(
    pg_temp.statuses(), '11 running, 12 dispatched, 13 queued, 14 deferred',
    'R17: and nothing moved'
);
select is(
    pg_temp.wake(5, 1, '{}', 'new', 'work'), 'blocked paused', 'no wake is admitted'
);
select is(
    pg_temp.wake(3, 1, '{}', 'k3', 'work'), 'blocked paused',
    'T37: a duplicate is told of the pause'
);
select is(pg_temp.counters(), 'paused=2', 'T37: and counted as paused alone');
select results_eq(
    $$
    select e.metric, e.reason, e.agent_id, e.issue_id, e.run_id, e.detail
    from dispatch.gate_event as e
    order by e.id
    limit 1
    $$,
    $$
    values (
        'pause', 'paused', dispatch_test.id(15), dispatch_test.id(101), null::uuid, '{}'::jsonb
    )
    $$,
    'the record names agent and issue'
);
select is(
    (
        select string_agg(format('%s %s', t.applied, t.status), ', ' order by r.id)
        from dispatch.run as r
        cross join lateral dispatch.fail_run(dispatch_test.id(1), r.id, 1, 'timeout') as t
        where r.status = 'running'
    ),
    't failed',
    'R17: running work may end'
);
select is(
    (
        select r.status::text from dispatch.runs as r where r.parent_run_id is not null
    ),
    'queued',
    'R17: its retry is queued and waits'
);
select is(
    (
        select t.applied
        from dispatch.run as r
        cross join lateral dispatch.start_run(dispatch_test.id(1), r.id, 1) as t
        where r.status = 'dispatched'
    ),
    true,
    'R17: what was claimed before may start'
);
select dispatch.resume_workspace(dispatch_test.id(1), 'system');
select is(
    (select count(*) from dispatch.run as r), 5::bigint,
    'R17: a resume makes no run but those of refused assignments'
);
select is(
    (
        select string_agg(right(c.agent_id::text, 2), ' ' order by c.requested_at, c.run_id)
        from dispatch.claim_runs(dispatch_test.id(1), array[dispatch_test.id(3)], 9, 9) as c
    ),
    '13 14 11',
    'R17: after it the queue is served, in its order and each once'
);

select * from finish();
rollback;

begin;
select plan(7);

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

-- The payload of an assignment, made by an actor of a type.
create function pg_temp.by(p_issue integer, p_type text default 'agent') returns jsonb
language sql
as $fn$
    select jsonb_strip_nulls(jsonb_build_object(
        'task_id', dispatch_test.id(100 + p_issue), 'actor_type', p_type,
        'actor_id', dispatch_test.id(99)
    ));
$fn$;

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

create function pg_temp.observed(p_issue integer) returns bigint
language plpgsql
as $fn$
begin
    return dispatch._allowance_count(
        dispatch_test.id(1), dispatch_test.id(100 + p_issue)::text, dispatch.clock()
    );
end;
$fn$;

select dispatch.queue_wake(
    dispatch_test.id(1), dispatch_test.id(11), 'task_assigned',
    '{"actor_type": "agent", "actor_id": "a-1", "task_id": 42}', 'k',
    dispatch_test.id(101), p_actor_type => 'user', p_actor_id => dispatch_test.id(2)
);
select results_eq(
    $$
    select
        e.at, e.metric, e.reason, e.agent_id, e.issue_id, e.run_id, e.actor_type, e.actor_id,
        e.detail
    from dispatch.gate_event as e
    $$,
    $$
    select
        dispatch.clock(), 'assignment_rate_limit', 'task_unattributed', dispatch_test.id(11),
        dispatch_test.id(101), null::uuid, 'user', dispatch_test.id(2),
        '{"allowance": 5}'::jsonb
    $$,
    'T6, S13: the record has the allowance, no task, and the persisted actor'
);
select is(
    (select format('%s %s', r.status, r.idempotency_key) from dispatch.runs as r),
    'queued k',
    'T6: the wake itself is an ordinary run'
);
select is(
    (
        select string_agg(
            pg_temp.wake(1 + n, 1, '{"actor_type": "agent"}'), ', '
        )
        from generate_series(1, 6) as n
    ),
    'queued queued, queued queued, queued queued, queued queued, queued queued, queued queued',
    '002.3: no number of them is refused'
);
select is(
    pg_temp.counters(), 'task_unattributed=7', '003.1: each one is counted once'
);
select is(pg_temp.observed(1), 0::bigint, '002.3: and none uses the allowance of the issue');
select is(
    pg_temp.wake(8, 2, '{"actor_type": "agent"}') || ', '
    || pg_temp.wake(8, 2, '{"actor_type": "agent"}'),
    'queued queued, coalesced coalesced',
    '001.5: one that merges never reaches the gate'
);
select is(pg_temp.counters(), 'coalesced=1 task_unattributed=8', 'so it is counted as merged');

select * from finish();
rollback;

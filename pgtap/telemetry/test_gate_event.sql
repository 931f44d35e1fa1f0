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

create function pg_temp.ask(p_agent integer, p_key text, p_payload jsonb) returns uuid
language sql
as $fn$
    select d.run_id
    from dispatch.queue_wake(
        dispatch_test.id(1), dispatch_test.id(10 + p_agent), 'task_assigned', p_payload, p_key,
        dispatch_test.id(101), p_actor_type => 'user', p_actor_id => dispatch_test.id(2)
    ) as d;
$fn$;
select pg_temp.ask(n, 'k' || n, pg_temp.by(1)) from generate_series(1, 5) as n;
select is_empty(
    'select from dispatch.gate_event as e', '003.4: an ordinary admission writes no record'
);
select pg_temp.ask(6, 'k6', pg_temp.by(1));
select results_eq(
    $$
    select
        e.workspace_id, e.at, e.metric, e.reason, e.agent_id, e.issue_id, e.run_id,
        e.actor_type, e.actor_id, e.detail
    from dispatch.gate_event as e
    $$,
    $$
    select
        dispatch_test.id(1), dispatch.clock(), 'assignment_rate_limit', 'allowance_exhausted',
        dispatch_test.id(16), dispatch_test.id(101), null::uuid, 'user', dispatch_test.id(2),
        jsonb_build_object('task_id', dispatch_test.id(101), 'observed', 5, 'allowance', 5)
    $$,
    'T46, S19: a refusal has task, observed count and allowance, and the persisted actor'
);
delete from dispatch.gate_event as e where true;
select pg_temp.ask(1, 'k1', '{}');
select results_eq(
    $$select e.metric, e.reason, e.agent_id, e.run_id, e.detail from dispatch.gate_event as e$$,
    $$
    select
        'run_dedup', 'duplicate_recent', dispatch_test.id(11), r.id,
        '{"status": "queued"}'::jsonb
    from dispatch.runs as r
    where r.idempotency_key = 'k1'
    $$,
    'a duplicate names the run that has the key'
);
delete from dispatch.gate_event as e where true;
select pg_temp.ask(7, 'k1', '{}');
select results_eq(
    $$select e.reason, e.agent_id, e.run_id, e.detail from dispatch.gate_event as e$$,
    $$
    select 'duplicate_recent', dispatch_test.id(17), r.id, '{}'::jsonb
    from dispatch.runs as r
    where r.idempotency_key = 'k1'
    $$,
    'another agent''s run is described no further'
);
delete from dispatch.gate_event as e where true;
select dispatch.queue_wake(dispatch_test.id(1), dispatch_test.id(89), 'x');
select results_eq(
    $$
    select e.metric, e.reason, e.agent_id, e.issue_id, e.run_id, e.actor_type, e.actor_id,
        e.detail
    from dispatch.gate_event as e
    $$,
    $$
    values (
        'refused', 'invocation_not_allowed', dispatch_test.id(89), null::uuid, null::uuid,
        'system', null::uuid, '{}'::jsonb
    )
    $$,
    'a refusal of an unknown agent records what was asked for'
);
delete from dispatch.gate_event as e where true;
select pg_temp.ask(1, null, pg_temp.by(1));
select pg_temp.ask(1, null, '{"task_id": 1}');
select is_empty(
    'select from dispatch.gate_event as e', 'merged and absorbed wakes have no record here'
);
select dispatch.queue_wakes(
    dispatch_test.id(1),
    jsonb_agg(jsonb_build_object('agent_id', dispatch_test.id(80 + n), 'reason', 'x'))
)
from generate_series(1, 3) as n;
select is(
    (
        select array_agg(e.agent_id order by e.id) from dispatch.gate_event as e
    ),
    array[dispatch_test.id(81), dispatch_test.id(82), dispatch_test.id(83)],
    'the records of a batch have its order'
);

select * from finish();
rollback;

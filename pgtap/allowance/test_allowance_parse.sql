begin;
select plan(37);

select dispatch_test.set_clock('2030-01-15 12:00:00+00');
select dispatch.put_workspace(dispatch_test.id(1), 'Works');
select dispatch.put_member(dispatch_test.id(1), dispatch_test.id(2), 'Ana');
select dispatch.put_runtime(dispatch_test.id(1), dispatch_test.id(3), 'daemon-1');
select dispatch.heartbeat(dispatch_test.id(1), array[dispatch_test.id(3)]);
select dispatch.put_agent(
    dispatch_test.id(1), dispatch_test.id(10 + n), 'agent ' || n, dispatch_test.id(2),
    dispatch_test.id(3)
)
from generate_series(1, 24) as n;
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

-- What a payload became, and which counters its wake moved.
create function pg_temp.try(p_agent integer, p_payload text) returns text
language plpgsql
as $fn$
declare
    v_outcome text;
begin
    delete from dispatch.gate_event as e where true;
    select d.outcome
    into v_outcome
    from dispatch.queue_wake(
        dispatch_test.id(1), dispatch_test.id(p_agent), 'task_assigned',
        dispatch.read_payload(p_payload)
    ) as d;
    return concat_ws(
        ' ', v_outcome, (select string_agg(e.reason, ' ') from dispatch.gate_event as e)
    );
end;
$fn$;
select pg_temp.wake(n, 1, pg_temp.by(1)) from generate_series(1, 5) as n;
select dispatch_test.advance_clock(interval '6 seconds');

select is(
    pg_temp.try(16, replace(t.payload, '$t1', dispatch_test.id(101)::text)), t.became,
    'T6, T7, S13, S18: ' || coalesce(nullif(t.payload, ''), 'empty text')
)
from (
    values
        (1, '{"actor_type": "agent", "task_id": "$t1"}', 'rate_limited allowance_exhausted'),
        (2, '{"actor_type": "agent", "task_id": "other"}', 'queued'),
        (3, '{"actor_type": "agent"}', 'queued task_unattributed'),
        (4, '{"actor_type": "agent", "task_id": null}', 'queued task_unattributed'),
        (5, '{"actor_type": "agent", "task_id": ""}', 'queued task_unattributed'),
        (6, '{"actor_type": "agent", "task_id": 42}', 'queued task_unattributed'),
        (7, '{"actor_type": "agent", "task_id": true}', 'queued task_unattributed'),
        (8, '{"actor_type": "agent", "task_id": {}}', 'queued task_unattributed'),
        (9, '{"actor_type": "agent", "task_id": []}', 'queued task_unattributed'),
        (10, '{"actor_type": "agent", "task_id": ["$t1"]}', 'queued task_unattributed'),
        (11, '{"actor_type": "user"}', 'queued'),
        (12, '{"actor_type": "system"}', 'queued'),
        (13, '{"actor_type": "Agent"}', 'queued'),
        (14, '{"actor_type": "agent "}', 'queued'),
        (15, '{"actor_type": ""}', 'queued'),
        (16, '{"actor_type": 1}', 'queued'),
        (17, '{"actor_type": null}', 'queued'),
        (18, '{"actor_type": {"agent": "agent"}}', 'queued'),
        (19, '{"actor_type": ["agent"]}', 'queued'),
        (20, '{"task_id": 42}', 'queued'),
        (21, '{}', 'queued'),
        (22, 'not json', 'queued'),
        (23, '', 'queued'),
        (24, '[1]', 'queued'),
        (25, '"x"', 'queued'),
        (26, '"agent"', 'queued'),
        (27, '[{"actor_type": "agent", "task_id": "$t1"}]', 'queued'),
        (28, '{"actor_type": "agent", "task_id": "$t1"', 'queued'),
        (29, 'null', 'queued'),
        (30, '{"Actor_type": "agent", "task_id": 1}', 'queued')
) as t (step, payload, became)
order by t.step;
select is(
    pg_temp.try(
        16 + t.step,
        format('{"actor_type": %s, "task_id": "%s"}', t.actor, dispatch_test.id(101))
    ),
    'queued',
    'T7, S13: an actor_type of ' || t.actor || ' is out of scope, with an issue as well'
)
from (
    values
        (1, '"user"'), (2, '"system"'), (3, '"Agent"'), (4, '"agent "'), (5, '1'), (6, 'null'),
        (7, '{}')
) as t (step, actor)
order by t.step;

select * from finish();
rollback;

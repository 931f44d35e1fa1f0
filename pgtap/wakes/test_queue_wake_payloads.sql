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

create temp table shape (n integer, payload jsonb) on commit drop;
insert into shape (n, payload)
select s.ordinality, s.payload
from unnest(array[
    '{"actor_type": "agent", "task_id": "t1"}',
    '{"actor_type": "agent"}',
    '{"actor_type": "agent", "task_id": null}',
    '{"actor_type": "agent", "task_id": ""}',
    '{"actor_type": "agent", "task_id": 42}',
    '{"actor_type": "agent", "task_id": true}',
    '{"actor_type": "agent", "task_id": {}}',
    '{"actor_type": "agent", "task_id": []}',
    '{"actor_type": "user", "task_id": "t1"}',
    '{"actor_type": "system", "task_id": "t1"}',
    '{"actor_type": "Agent", "task_id": "t1"}',
    '{"actor_type": "agent ", "task_id": "t1"}',
    '{"actor_type": 1, "task_id": "t1"}',
    '{"actor_type": null, "task_id": "t1"}',
    '{"actor_type": {}, "task_id": "t1"}',
    '{"task_id": "t1"}',
    '{}',
    '[1]',
    '"x"',
    '""',
    '42',
    'true',
    'null'
]::jsonb[]) with ordinality as s (payload, ordinality);

create temp table answer on commit drop as
select s.n, s.payload, d.outcome, d.run_id
from shape as s
cross join lateral dispatch.queue_wake(
    dispatch_test.id(1), dispatch_test.id(4), 'task_assigned', s.payload
) as d;

select is(
    (select count(*) from answer as a where a.outcome = 'queued'),
    23::bigint,
    'a wake is queued whatever the shape of its payload'
);
select is_empty(
    $$
    select a.payload
    from answer as a
    left join dispatch.runs as r on r.id = a.run_id
    where r.payload is distinct from a.payload
    $$,
    'each payload is stored as given'
);
select is(
    (select count(distinct r.id) from dispatch.runs as r where r.issue_id is null),
    23::bigint,
    'a task_id that names no issue of the workspace leaves the run without one'
);
select dispatch.queue_wake(dispatch_test.id(1), dispatch_test.id(4), 'nothing', null::jsonb);
select is(
    (select r.payload from dispatch.runs as r where r.reason = 'nothing'),
    '{}'::jsonb,
    'no payload is an empty object'
);
select is(
    (
        select string_agg(d.outcome::text, ' ')
        from dispatch.queue_wakes(
            dispatch_test.id(1),
            jsonb_build_array(
                jsonb_build_object(
                    'agent_id', dispatch_test.id(4), 'reason', 'tick', 'payload', '[1]'::jsonb
                ),
                jsonb_build_object(
                    'agent_id', dispatch_test.id(4), 'reason', 'tick', 'payload', 7
                ),
                jsonb_build_object('agent_id', dispatch_test.id(4), 'reason', 'tick')
            )
        ) as d
    ),
    'queued queued queued',
    'a batch takes the same shapes'
);

select * from finish();
rollback;

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
from generate_series(1, 2) as n;

select dispatch.queue_wake(
    dispatch_test.id(1), dispatch_test.id(4), 'mention', '{"a": 1}', 'k1',
    dispatch_test.id(101), p_coalesce => false
);
select dispatch_test.advance_clock(interval '1.5 seconds');
select dispatch.queue_wake(
    dispatch_test.id(1), dispatch_test.id(4), 'comment', '[2]', null, dispatch_test.id(101),
    p_coalesce => false, p_actor_type => 'user', p_actor_id => dispatch_test.id(2)
)
from generate_series(1, 3);
create temp table taken on commit drop as
select c.triggers
from dispatch.claim_run(dispatch_test.id(1), dispatch_test.id(4)) as c;

select is(
    (select jsonb_array_length(t.triggers) from taken as t), 2,
    'the triggers are the wakes that the run stands for'
);
select is(
    (
        select string_agg(k.key, ' ' order by k.key)
        from taken as t
        cross join lateral jsonb_object_keys(t.triggers -> 0) as k (key)
    ),
    'actor_id actor_type at comment_id count idempotency_key originator_id outcome payload '
    'reason source',
    'each has exactly the keys that daemons may rely on'
);
select is(
    (select (t.triggers -> 0) - 'at' from taken as t),
    '{
        "outcome": "queued", "source": "wake", "reason": "mention", "payload": {"a": 1},
        "idempotency_key": "k1", "comment_id": null, "actor_type": "system", "actor_id": null,
        "originator_id": null, "count": 1
    }'::jsonb,
    'the first one is what the run was made for'
);
select is(
    (select (t.triggers -> 1) - 'at' from taken as t),
    jsonb_build_object(
        'outcome', 'absorbed', 'source', 'wake', 'reason', 'comment', 'payload', '[2]'::jsonb,
        'idempotency_key', null, 'comment_id', null, 'actor_type', 'user',
        'actor_id', dispatch_test.id(2), 'originator_id', dispatch_test.id(2), 'count', 3
    ),
    'then come the absorbed ones, equal ones as one with a count'
);
select is(
    (
        select array_agg((e.value ->> 'at')::timestamptz order by e.ordinality)
        from taken as t
        cross join lateral jsonb_array_elements(t.triggers) with ordinality as e
    ),
    array['2030-01-15 12:00:00+00', '2030-01-15 12:00:01.5+00']::timestamptz[],
    'each with the instant at which it came'
);
select dispatch.queue_wake(
    dispatch_test.id(1), dispatch_test.id(4), 'mention', '{"b": 1}', 'k2', dispatch_test.id(102)
);
set local timezone = 'Asia/Tokyo';
select is(
    (
        select c.triggers
        from dispatch.claim_run(dispatch_test.id(1), dispatch_test.id(4)) as c
    ),
    '[{
        "at": "2030-01-15T12:00:01.500000Z", "outcome": "queued", "source": "wake",
        "reason": "mention", "payload": {"b": 1}, "idempotency_key": "k2", "comment_id": null,
        "actor_type": "system", "actor_id": null, "originator_id": null, "count": 1
    }]'::jsonb,
    'a run with one wake has one trigger of the same form, whatever the session''s time zone'
);

select * from finish();
rollback;

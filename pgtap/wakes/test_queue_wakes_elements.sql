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
from generate_series(1, 2) as n;

create temp table answer on commit drop as
select d.ordinality as n, d.outcome, d.run_id, d.source
from dispatch.queue_wakes(
    dispatch_test.id(1),
    jsonb_build_array(
        jsonb_build_object('agent_id', dispatch_test.id(4), 'reason', 'plain'),
        jsonb_build_object(
            'agent_id', dispatch_test.id(4), 'reason', 'full', 'payload', '[7]'::jsonb,
            'idempotency_key', 'k', 'issue_id', dispatch_test.id(101), 'priority', -3,
            'fire_at', '2030-01-15T14:30:00+02:00', 'actor_type', 'user',
            'actor_id', dispatch_test.id(2), 'coalesce', false, 'max_attempts', 9
        ),
        jsonb_build_object(
            'agent_id', dispatch_test.id(4), 'reason', 'chat',
            'chat_session_id', dispatch_test.id(50), 'originator_id', dispatch_test.id(2),
            'idempotency_key', ''
        ),
        jsonb_build_object(
            'agent_id', dispatch_test.id(4), 'reason', 'named',
            'payload', jsonb_build_object('task_id', dispatch_test.id(102))
        )
    )
) with ordinality as d;

select is(
    (select string_agg(a.outcome::text, ' ' order by a.n) from answer as a),
    'queued deferred queued queued',
    'the elements take the arguments of queue_wake'
);
select results_eq(
    $$
    select r.payload, r.priority, r.max_attempts, r.actor_type, r.idempotency_key
    from dispatch.runs as r
    where r.reason = 'plain'
    $$,
    $$values ('{}'::jsonb, 0, 2, 'system', null::text)$$,
    'with the same defaults'
);
select results_eq(
    $$
    select
        r.payload, r.priority, r.max_attempts, r.actor_type, r.actor_id, r.idempotency_key,
        r.issue_id, r.fire_at, r.originator_id, r.attribution_source
    from dispatch.runs as r
    where r.reason = 'full'
    $$,
    $$
    values (
        '[7]'::jsonb, -3, 9, 'user', dispatch_test.id(2), 'k', dispatch_test.id(101),
        '2030-01-15 12:30:00+00'::timestamptz, dispatch_test.id(2), 'direct_human'
    )
    $$,
    'each key reaches its column'
);
select results_eq(
    $$
    select r.chat_session_id, r.lane, r.originator_id, r.idempotency_key
    from dispatch.runs as r
    where r.reason = 'chat'
    $$,
    $$
    values (dispatch_test.id(50), dispatch_test.id(50), dispatch_test.id(2), null::text)
    $$,
    'a chat wake has the lane of its session, and an empty key is none'
);
select is(
    (select r.issue_id from dispatch.runs as r where r.reason = 'named'),
    dispatch_test.id(102),
    'the issue may be named by the payload'
);

select * from finish();
rollback;

begin;
select plan(8);

select dispatch_test.set_clock('2030-01-15 12:00:00+00');
select dispatch.put_workspace(dispatch_test.id(1), 'Works');
select dispatch.put_member(dispatch_test.id(1), dispatch_test.id(2), 'Ana');
select dispatch.put_runtime(dispatch_test.id(1), dispatch_test.id(3), 'daemon-1');
select dispatch.heartbeat(dispatch_test.id(1), array[dispatch_test.id(3)]);
select dispatch.put_agent(
    dispatch_test.id(1), dispatch_test.id(4), 'alpha', dispatch_test.id(2), dispatch_test.id(3)
);
select dispatch.put_agent(
    dispatch_test.id(1), dispatch_test.id(5), 'beta', dispatch_test.id(2), dispatch_test.id(3)
);
insert into dispatch.issue (
    workspace_id, id, number, title, status, priority, creator_type, created_at, updated_at
)
select
    dispatch_test.id(1), dispatch_test.id(100 + n), n, 'issue', 'todo', 'none', 'system',
    dispatch.clock(), dispatch.clock()
from generate_series(1, 5) as n;

create function pg_temp.element(p_agent integer, p_issue integer, p_extra jsonb default '{}')
returns jsonb
language sql
as $fn$
    select jsonb_build_object(
        'agent_id', dispatch_test.id(p_agent), 'reason', 'mention',
        'issue_id', dispatch_test.id(100 + p_issue)
    ) || p_extra;
$fn$;

create temp table answer on commit drop as
select d.ordinality as n, d.outcome, d.reason_code, d.run_id, d.agent_id
from dispatch.queue_wakes(
    dispatch_test.id(1),
    jsonb_build_array(
        pg_temp.element(4, 1, '{"payload": {"n": 0}}'),
        pg_temp.element(99, 1),
        pg_temp.element(5, 1),
        pg_temp.element(4, 1, '{"payload": {"n": 1}, "coalesce": false}'),
        pg_temp.element(4, 2, '{"idempotency_key": "k"}'),
        pg_temp.element(5, 3, '{"idempotency_key": "k"}'),
        pg_temp.element(4, 4, '{"fire_at": "2030-01-15T13:00:00Z"}'),
        pg_temp.element(4, 4)
    )
) with ordinality as d;

select is(
    (
        select string_agg(a.outcome::text, ' ' order by a.n) from answer as a
    ),
    'queued blocked queued absorbed queued deduplicated deferred queued',
    'each element is decided in order and sees those before it'
);
select is(
    (select a.reason_code::text from answer as a where a.n = 2),
    'invocation_not_allowed',
    'an unknown agent is the decision of its element and spoils no other'
);
select is(
    (select a.run_id from answer as a where a.n = 4),
    (select a.run_id from answer as a where a.n = 1),
    'the absorbed element names the run of the earlier one'
);
select is(
    (select a.run_id from answer as a where a.n = 6),
    (select a.run_id from answer as a where a.n = 5),
    'so does the duplicate'
);
select is(
    (select array_agg(a.run_id order by a.n) from answer as a where a.n in (1, 3, 5, 7, 8)),
    (select array_agg(r.id order by r.id) from dispatch.run as r),
    'the ids of one batch ascend in its order'
);
select is(
    (
        select jsonb_agg(t.payload -> 'n' order by t.seq)::text from dispatch.run_trigger as t
    ),
    '[0, 1]',
    'the absorbed element is recorded'
);
select is_empty(
    $$select d.outcome from dispatch.queue_wakes(dispatch_test.id(1), '[]') as d$$,
    'an empty batch is no decision'
);
select is(
    (
        select string_agg(d.outcome::text, ' ')
        from dispatch.queue_wakes(
            dispatch_test.id(1),
            jsonb_build_array(pg_temp.element(4, 5), pg_temp.element(4, 5, '{"reason": "b"}'))
        ) as d
    ),
    'queued absorbed',
    'two wakes of a pair in one batch make one run'
);

select * from finish();
rollback;

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

create function pg_temp.counters() returns text
language sql
as $fn$
    select string_agg(c.reason || '=' || c.value, ' ' order by c.reason)
    from dispatch.gate_counters as c
    where c.value > 0;
$fn$;

create function pg_temp.element(p_agent integer, p_issue integer, p_n integer, p_more jsonb)
returns jsonb
language sql
as $fn$
    select jsonb_build_object(
        'agent_id', dispatch_test.id(10 + p_agent), 'reason', 'mention',
        'issue_id', dispatch_test.id(100 + p_issue), 'payload', jsonb_build_object('n', p_n)
    ) || p_more;
$fn$;
create temp table answer on commit drop as
select d.ordinality as n, d.outcome::text, d.reason_code::text, d.run_id
from dispatch.queue_wakes(
    dispatch_test.id(1),
    jsonb_build_array(
        pg_temp.element(1, 1, 1, '{}'),
        pg_temp.element(1, 1, 2, '{}'),
        pg_temp.element(1, 1, 3, '{"reason": "other"}'),
        pg_temp.element(1, 1, 4, '{"idempotency_key": "merged"}'),
        pg_temp.element(2, 1, 5, '{"idempotency_key": "k"}'),
        pg_temp.element(3, 1, 6, '{"idempotency_key": "k"}'),
        pg_temp.element(2, 1, 7, '{"idempotency_key": "k"}'),
        pg_temp.element(4, 1, 8, '{"idempotency_key": "merged"}'),
        pg_temp.element(3, 1, 9, '{"idempotency_key": "task_comment:c:a"}'),
        pg_temp.element(3, 1, 10, '{}'),
        pg_temp.element(1, 2, 11, '{}')
    )
) with ordinality as d;

select is(
    (
        select string_agg(a.outcome, ' ' order by a.n) from answer as a
    ),
    'queued coalesced absorbed coalesced queued deduplicated deduplicated queued queued '
    'absorbed queued',
    'each element sees those before it'
);
select is(
    (select array_agg(distinct a.run_id) from answer as a where a.n <= 4),
    (select array[a.run_id] from answer as a where a.n = 1),
    'the wakes of a pair name one run'
);
select is(
    (select array_agg(distinct a.run_id) from answer as a where a.n between 5 and 7),
    (select array[a.run_id] from answer as a where a.n = 5),
    'so do the wakes of a key'
);
select results_eq(
    $$
    select r.payload -> 'n', r.coalesced_count
    from dispatch.runs as r
    inner join answer as a on a.run_id = r.id
    where a.n = 1
    $$,
    $$values ('4'::jsonb, 3)$$,
    'the last merge gives the payload'
);
select is(
    (
        select string_agg(format('%s %s', t.outcome, t.payload -> 'n'), ', ' order by t.seq)
        from dispatch.run_trigger as t
        inner join answer as a on a.run_id = t.run_id
        where a.n = 1
    ),
    'queued 1, coalesced 2, absorbed 3, coalesced 4',
    'all of them are recorded in their order'
);
select is(
    pg_temp.counters(), 'already_active=2 coalesced=2 duplicate_recent=2',
    'each element is counted'
);
select is(
    (select string_agg(a.reason_code, ' ' order by a.n) from answer as a where a.n in (6, 7)),
    'duplicate_recent duplicate_recent',
    'a key of the same batch is a recent duplicate'
);

select * from finish();
rollback;

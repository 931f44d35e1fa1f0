begin;
select plan(9);

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

select dispatch.put_member(dispatch_test.id(1), dispatch_test.id(5), 'Ben');
create function pg_temp.ask(
    p_payload jsonb,
    p_key text,
    p_actor integer,
    p_priority integer default 0
)
returns text
language sql
as $fn$
    select concat_ws(' ', d.outcome, d.reason_code, right(d.agent_id::text, 2), d.source)
    from dispatch.queue_wake(
        dispatch_test.id(1), dispatch_test.id(11), 'mention', p_payload, p_key,
        dispatch_test.id(101), p_priority => p_priority, p_actor_type => 'user',
        p_actor_id => dispatch_test.id(p_actor)
    ) as d;
$fn$;
select is(
    pg_temp.ask('{"n": 1, "old": true}', 'first', 2, 5), 'queued queued 11 wake', 'a wake'
);
create temp table before on commit drop as select r.* from dispatch.runs as r;
select dispatch_test.advance_clock(interval '2 seconds');
select is(
    pg_temp.ask('{"n": 2}', 'second', 5, 9), 'coalesced coalesced 11 wake',
    'T48: a second one of the pair, by somebody else, merges into its run'
);

select results_eq(
    $$
    select
        r.payload, r.coalesced_count, r.originator_id, r.accountable_id, r.attribution_source
    from dispatch.runs as r
    $$,
    $$
    values ('{"n": 2}'::jsonb, 2, dispatch_test.id(5), dispatch_test.id(5), 'direct_human')
    $$,
    'T48: the payload is replaced whole, the count grows, and the newer human answers'
);
select results_eq(
    $$
    select r.id, r.status, r.requested_at, r.idempotency_key, r.priority, r.actor_type,
        r.actor_id, r.source, r.reason, r.claim_no, r.attempt
    from dispatch.runs as r
    $$,
    $$
    select r.id, r.status, r.requested_at, r.idempotency_key, r.priority, r.actor_type,
        r.actor_id, r.source, r.reason, r.claim_no, r.attempt
    from before as r
    $$,
    'T48: time, key, priority and actor stay those of the first wake'
);
select results_eq(
    $$
    select t.seq, t.outcome::text, t.payload, t.idempotency_key, t.actor_id, t.originator_id,
        t.at, t.count
    from dispatch.run_trigger as t
    order by t.seq
    $$,
    $$
    values
        (
            1::bigint, 'queued', '{"n": 1, "old": true}'::jsonb, 'first', dispatch_test.id(2),
            dispatch_test.id(2), '2030-01-15 12:00:00+00'::timestamptz, 1
        ),
        (
            2, 'coalesced', '{"n": 2}', 'second', dispatch_test.id(5), dispatch_test.id(5),
            '2030-01-15 12:00:02+00', 1
        )
    $$,
    'R11: both wakes are recorded, each with its own originator'
);
select pg_temp.ask('{"n": 2}', 'second', 5) from generate_series(1, 50);
select results_eq(
    $$select t.seq, t.count from dispatch.run_trigger as t order by t.seq$$,
    $$values (1::bigint, 1), (2, 51)$$,
    'a looping producer adds to a count and no rows'
);
select is(
    (select r.coalesced_count from dispatch.runs as r), 52, 'each merge is counted on the run'
);
select is(
    (
        select jsonb_agg(
            e.value -> 'payload' || jsonb_build_object('times', e.value -> 'count')
            order by e.ordinality
        )
        from dispatch.claim_run(dispatch_test.id(1), dispatch_test.id(11)) as c
        cross join lateral jsonb_array_elements(c.triggers) with ordinality as e
    ),
    '[{"n": 1, "old": true, "times": 1}, {"n": 2, "times": 51}]',
    'R11: a claim delivers them all'
);
select is_empty('select from dispatch.gate_event as e', 'a merge writes no gate event');

select * from finish();
rollback;

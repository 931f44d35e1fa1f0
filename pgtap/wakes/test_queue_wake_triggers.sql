begin;
select plan(9);

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
from generate_series(1, 1) as n;

create function pg_temp.ask(
    p_payload jsonb,
    p_key text default null,
    p_actor_id uuid default null,
    p_reason text default 'mention'
)
returns text
language sql
as $fn$
    select d.outcome::text
    from dispatch.queue_wake(
        dispatch_test.id(1), dispatch_test.id(4), p_reason, p_payload, p_key,
        dispatch_test.id(101), p_coalesce => false,
        p_actor_type => case when p_actor_id is null then 'system' else 'user' end,
        p_actor_id => p_actor_id
    ) as d;
$fn$;

select pg_temp.ask('{"n": 1}', 'k1');
select is((select count(*) from dispatch.run_trigger), 0::bigint, 'a first wake leaves no row');

select dispatch_test.advance_clock(interval '10 seconds');
select pg_temp.ask('{"n": 2}', 'k2');
select results_eq(
    $$
    select t.seq, t.outcome::text, t.payload, t.idempotency_key, t.at, t.count
    from dispatch.run_trigger as t
    order by t.seq
    $$,
    $$
    values
    (1::bigint, 'queued', '{"n": 1}'::jsonb, 'k1', '2030-01-15 12:00:00+00'::timestamptz, 1),
    (2::bigint, 'absorbed', '{"n": 2}'::jsonb, 'k2', '2030-01-15 12:00:10+00'::timestamptz, 1)
    $$,
    'the first absorption writes the run''s own wake and then itself'
);
select is(
    pg_temp.ask('{"n": 9}', 'k2'), 'absorbed',
    'the key of an absorbed wake is kept and never looked up'
);
select pg_temp.ask('{"n": 3}');
select pg_temp.ask('{"n": 3}');
select pg_temp.ask('{"n": 3}');
select results_eq(
    $$
    select count(*), max(t.count) from dispatch.run_trigger as t where t.payload = '{"n": 3}'
    $$,
    $$values (1::bigint, 3)$$,
    'equal wakes are one row with a count'
);
select pg_temp.ask('{"n": 3}', 'k3');
select pg_temp.ask('{"n": 3}', null, dispatch_test.id(2));
select pg_temp.ask('{"n": 3}', null, null, 'comment');
select is(
    (select count(*) from dispatch.run_trigger as t where t.payload = '{"n": 3}'),
    4::bigint,
    'another key, actor or reason makes another wake'
);
select is(
    (select sum(t.count) from dispatch.run_trigger as t), 9::bigint, 'no wake is lost'
);
select is(
    (select count(*) from dispatch.run_trigger as t where t.inherited),
    0::bigint,
    'none of them is inherited'
);
select results_eq(
    $$select r.payload, r.idempotency_key, r.requested_at, r.priority from dispatch.runs as r$$,
    $$
    values ('{"n": 1}'::jsonb, 'k1', '2030-01-15 12:00:00+00'::timestamptz, 0)
    $$,
    'the run itself stays as it was asked for'
);
select is(
    (
        select jsonb_agg(t.value -> 'payload' -> 'n')::text
        from dispatch.claim_run(dispatch_test.id(1), dispatch_test.id(4)) as c
        cross join lateral jsonb_array_elements(c.triggers) as t
    ),
    '[1, 2, 9, 3, 3, 3, 3]',
    'a claim delivers all of them in order of arrival'
);

select * from finish();
rollback;

begin;
select plan(5);

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

-- Every run gets the id of the first one.
create or replace function dispatch._uuid_v7(p_tick bigint)
returns uuid
language sql
volatile
as $fn$
    select '00000000-0000-7000-8000-000000000999'::uuid;
$fn$;
create function pg_temp.ask(p_agent integer, p_key text) returns text
language sql
as $fn$
    select dispatch_test.error_of(format(
        'select d.outcome from dispatch.queue_wake(%L, %L, %L, %L, %L, %L) as d',
        dispatch_test.id(1), dispatch_test.id(10 + p_agent), 'mention', '{}', p_key,
        dispatch_test.id(101)
    ));
$fn$;
select is(pg_temp.ask(1, 'a'), '00000', 'a wake');
select is(
    pg_temp.ask(2, 'b'), '23505',
    'T67, R10: a clash of another key than the wake''s is raised as the server raises it'
);
select is(pg_temp.ask(3, null), '23505', 'T67, R10: with a key and without');
select is(
    (select string_agg(r.idempotency_key, ' ') from dispatch.runs as r), 'a',
    'nothing of the clashing wakes stays'
);
select is(pg_temp.counters(), null, 'T67, R10: and it is no duplicate in the counters');

select * from finish();
rollback;

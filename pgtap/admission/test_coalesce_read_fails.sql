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

create or replace function dispatch._may_coalesce(
    p_workspace_id uuid,
    p_run_id uuid,
    p_wake dispatch.wake,
    p_at timestamptz
)
returns boolean
language plpgsql
stable
as $fn$
begin
    raise exception using errcode = '58030', message = 'no look today';
end;
$fn$;
create function pg_temp.ask(p_payload text) returns text
language sql
as $fn$
    select dispatch_test.error_of(format(
        'select d.outcome from dispatch.queue_wake(%L, %L, %L, %L, p_issue_id => %L) as d',
        dispatch_test.id(1), dispatch_test.id(11), 'mention', p_payload, dispatch_test.id(101)
    ));
$fn$;
select is(pg_temp.ask('{"n": 1}'), '00000', 'a wake that finds the slot free');
select is(
    pg_temp.ask('{"n": 2}'), '58030', 'when the run cannot be read, the caller gets the error'
);
select is(
    (select format('%s %s', r.payload, r.coalesced_count) from dispatch.runs as r),
    '{"n": 1} 1',
    'and the run stays as it was'
);
select is_empty('select from dispatch.run_trigger as t', 'nothing is recorded');
select is(pg_temp.counters(), null, 'and nothing counted');

select * from finish();
rollback;

begin;
select plan(10);

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

create function pg_temp.at(p_after interval, p_agent integer default 1) returns text
language plpgsql
as $fn$
begin
    perform dispatch_test.set_clock('2030-01-15 12:00:00+00'::timestamptz + p_after);
    return (
        select d.outcome
        from dispatch.queue_wake(
            dispatch_test.id(1), dispatch_test.id(10 + p_agent), 'mention',
            jsonb_build_object('at', p_after), p_issue_id => dispatch_test.id(101)
        ) as d
    );
end;
$fn$;

select is(pg_temp.at('0 s'), 'queued', 'a wake');
select is(pg_temp.at('0 s'), 'coalesced', 'one of the same instant merges');
select is(pg_temp.at('4 s'), 'coalesced', 'so does one after four seconds');
select is(pg_temp.at('4.999999 s'), 'coalesced', 'T47: a run of 4.999999 s still merges');
select is(pg_temp.at('5 s'), 'absorbed', 'T47: one of exactly 5 s does not');
select is(pg_temp.at('8 s'), 'absorbed', 'merges do not move the window');
select is(
    pg_temp.counters(), 'already_active=2 coalesced=3',
    'merged and absorbed wakes are counted apart'
);
select is(
    (select r.payload from dispatch.runs as r),
    jsonb_build_object('at', interval '4.999999 s'),
    'an absorbed wake replaces no payload'
);
select is(pg_temp.at('20 s', 2), 'queued', 'another agent has a run of its own');
select is(
    pg_temp.at('19 s', 2), 'coalesced', 'the window has no upper bound: a later run merges'
);

select * from finish();
rollback;

begin;
select plan(10);

select dispatch_test.set_clock('2030-01-15 12:00:00+00');
select dispatch.put_workspace(dispatch_test.id(1), 'Works');
select dispatch.put_member(dispatch_test.id(1), dispatch_test.id(2), 'Ana');
select dispatch.put_runtime(dispatch_test.id(1), dispatch_test.id(3), 'daemon-1');
select dispatch.heartbeat(dispatch_test.id(1), array[dispatch_test.id(3)]);
select dispatch.put_agent(
    dispatch_test.id(1), dispatch_test.id(4), 'alpha', dispatch_test.id(2), dispatch_test.id(3),
    p_max_concurrent_runs => 50
);
insert into dispatch.issue (
    workspace_id, id, number, title, status, priority, creator_type, created_at, updated_at
)
select
    dispatch_test.id(1), dispatch_test.id(100 + n), n, 'issue', 'todo', 'none', 'system',
    dispatch.clock(), dispatch.clock()
from generate_series(1, 1) as n;

create function pg_temp.refused(p_n integer)
returns void
language plpgsql
as $fn$
begin
    for v_number in 1..p_n loop
        perform dispatch.queue_wake(dispatch_test.id(1), dispatch_test.id(99), 'nobody');
    end loop;
end;
$fn$;
create function pg_temp.prune()
returns integer
language sql
as $fn$
    select t.rows from dispatch.tick('prune') as t;
$fn$;
create function pg_temp.counted()
returns text
language sql
as $fn$
    select concat_ws(
        ' ',
        (
            select c.value
            from dispatch.gate_counters as c
            where c.reason = 'invocation_not_allowed'
        ),
        (select count(*) from dispatch.gate_event as e)
    );
$fn$;

select pg_temp.refused(2);
select dispatch_test.advance_clock(interval '1 second');
select pg_temp.refused(3);
select is(pg_temp.counted(), '5 5', 'five refusals are counted and kept');
select dispatch_test.advance_clock(interval '720 hours' - interval '1 second');
select is(pg_temp.prune(), 0, 'an event exactly 30 days old is kept');
select dispatch_test.advance_clock(interval '1 microsecond');
select is(pg_temp.prune(), 2, 'a microsecond later it is deleted');
select is(pg_temp.counted(), '5 3', 'and counted all the same');
select dispatch_test.advance_clock(interval '1 hour');
select is(pg_temp.prune(), 3, 'so are the others');
select is(pg_temp.counted(), '5 0', 'the sums add up');
select pg_temp.refused(501);
select dispatch_test.advance_clock(interval '721 hours');
select is(pg_temp.prune(), 500, 'a tick deletes at most 500 of them');
select is(pg_temp.counted(), '506 1', 'without losing count');
select is(pg_temp.prune(), 1, 'the next one goes on');
select is(pg_temp.counted(), '506 0', 'until all is done');

select * from finish();
rollback;

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

create function pg_temp.later(
    p_agent integer,
    p_issue integer,
    p_delay interval,
    p_priority integer default 0
)
returns uuid
language sql
as $fn$
    select d.run_id
    from dispatch.queue_wake(
        dispatch_test.id(1), dispatch_test.id(p_agent), 'later',
        p_issue_id => dispatch_test.id(100 + p_issue), p_priority => p_priority,
        p_fire_at => dispatch.clock() + p_delay
    ) as d;
$fn$;
create function pg_temp.status_of(p_run_id uuid)
returns text
language sql
as $fn$
    select r.status::text from dispatch.run as r where r.id = p_run_id;
$fn$;

create temp table run on commit drop as
select
    pg_temp.later(4, 1, interval '1 second') as blocked,
    pg_temp.later(5, 2, interval '2 seconds') as free,
    pg_temp.later(5, 3, interval '3 seconds') as last;
select dispatch.queue_wake(
    dispatch_test.id(1), dispatch_test.id(4), 'now', p_issue_id => dispatch_test.id(101)
);
select dispatch_test.advance_clock(interval '1 minute');

select is(
    dispatch.promote_deferred(dispatch_test.id(1), null, 1), 1,
    'R04: a due run whose slot is taken does not use up the limit'
);
select results_eq(
    $$
    select pg_temp.status_of(r.blocked), pg_temp.status_of(r.free), pg_temp.status_of(r.last)
    from run as r
    $$,
    $$values ('deferred', 'queued', 'deferred')$$,
    'the one that is due longest goes first'
);
select is(
    dispatch.promote_deferred(dispatch_test.id(1), null, 1), 1, 'the next call takes the next'
);
select is(dispatch.promote_deferred(dispatch_test.id(1), null, 1), 0, 'and then none');
select is(
    (select pg_temp.status_of(r.blocked) from run as r), 'deferred', 'the blocked one waits on'
);

select dispatch.put_runtime(dispatch_test.id(1), dispatch_test.id(6), 'daemon-1');
select dispatch.put_agent(
    dispatch_test.id(1), dispatch_test.id(8), 'gamma', dispatch_test.id(2), dispatch_test.id(6)
);
create temp table silent on commit drop as
select
    pg_temp.later(8, 4, interval '1 second') as run_of_silent,
    pg_temp.later(5, 5, interval '2 seconds') as run_of_fresh;
select dispatch_test.advance_clock(interval '1 minute');
select is(
    dispatch.promote_deferred(dispatch_test.id(1), null, 1), 1,
    'R04: nor does a due run whose runtime is not fresh'
);

select * from finish();
rollback;

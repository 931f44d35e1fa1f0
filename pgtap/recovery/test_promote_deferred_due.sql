begin;
select plan(7);

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
from generate_series(1, 3) as n;

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
    pg_temp.later(4, 1, interval '10 seconds') as a,
    pg_temp.later(4, 2, interval '10 seconds') as b,
    pg_temp.later(4, 3, interval '1 hour') as c;
create temp table holder on commit drop as
select d.run_id as id
from dispatch.queue_wake(
    dispatch_test.id(1), dispatch_test.id(4), 'now', p_issue_id => dispatch_test.id(102)
) as d;

select is(dispatch.promote_deferred(dispatch_test.id(1)), 0, 'nothing is due yet');
select dispatch_test.advance_clock(interval '9.999999 seconds');
select is(dispatch.promote_deferred(dispatch_test.id(1)), 0, 'nor a microsecond too early');
select dispatch_test.advance_clock(interval '1 microsecond');
select is(
    dispatch.promote_deferred(dispatch_test.id(1)), 1,
    'R1: a due run whose slot is free is queued'
);
select results_eq(
    $$
    select pg_temp.status_of(r.a), pg_temp.status_of(r.b), pg_temp.status_of(r.c)
    from run as r
    $$,
    $$values ('queued', 'deferred', 'deferred')$$,
    'R1: one whose slot is taken stays'
);
select count(*) from dispatch.claim_runs(dispatch_test.id(1), array[dispatch_test.id(3)], 9, 9);
select is(
    dispatch.promote_deferred(dispatch_test.id(1)), 0, 'R1: also while the holder is dispatched'
);
select dispatch.start_run(dispatch_test.id(1), (select h.id from holder as h), 1);
select is(
    dispatch.promote_deferred(dispatch_test.id(1)), 1, 'R1: and goes when the slot is free'
);
select results_eq(
    $$
    select v.requested_at, v.fire_at, v.claim_no
    from dispatch.runs as v
    where v.id = (select r.b from run as r)
    $$,
    $$
    values (
        '2030-01-15 12:00:00+00'::timestamptz, '2030-01-15 12:00:10+00'::timestamptz, 0
    )
    $$,
    'it keeps since when it waits and when it was due'
);

select * from finish();
rollback;

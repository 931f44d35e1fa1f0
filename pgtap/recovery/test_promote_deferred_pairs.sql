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
from generate_series(1, 1) as n;

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
    pg_temp.later(4, 1, interval '1 second') as older,
    pg_temp.later(4, 1, interval '1 second', 7) as urgent,
    pg_temp.later(4, 1, interval '1 second') as younger,
    pg_temp.later(5, 1, interval '1 second') as other;
select dispatch.queue_wake(
    dispatch_test.id(1), dispatch_test.id(4), 'later',
    p_chat_session_id => dispatch_test.id(50),
    p_fire_at => dispatch.clock() + interval '1 second'
)
from generate_series(1, 2);
select dispatch_test.advance_clock(interval '1 second');

select is(
    dispatch.promote_deferred(dispatch_test.id(1)), 4,
    'R2: of each pair one run is queued, of those without issue all'
);
select results_eq(
    $$
    select
        pg_temp.status_of(r.older), pg_temp.status_of(r.urgent), pg_temp.status_of(r.younger),
        pg_temp.status_of(r.other)
    from run as r
    $$,
    $$values ('deferred', 'queued', 'deferred', 'queued')$$,
    'R2: that of highest priority goes first'
);
select dispatch.cancel_run(dispatch_test.id(1), (select r.urgent from run as r), 'system');
select is(dispatch.promote_deferred(dispatch_test.id(1)), 1, 'R2: then one more');
select results_eq(
    'select pg_temp.status_of(r.older), pg_temp.status_of(r.younger) from run as r',
    $$values ('queued', 'deferred')$$,
    'R2: the older'
);
select dispatch.cancel_run(dispatch_test.id(1), (select r.older from run as r), 'system');
select is(dispatch.promote_deferred(dispatch_test.id(1)), 1, 'R2: and at last the younger');
select is(dispatch.promote_deferred(dispatch_test.id(1)), 0, 'R14: each of them once');

select * from finish();
rollback;

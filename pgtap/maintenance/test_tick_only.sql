begin;
select plan(9);

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

select dispatch.queue_wake(
    dispatch_test.id(1), dispatch_test.id(4), 'due',
    p_fire_at => dispatch.clock() + interval '1 second'
);
select dispatch_test.advance_clock(interval '1 second');
create function pg_temp.status()
returns text
language sql
as $fn$
    select r.status::text from dispatch.run as r;
$fn$;

select results_eq(
    $$select t.step, t.rows from dispatch.tick('prune') as t$$, $$values ('prune', 0)$$,
    'p_only names the step to do'
);
select is(pg_temp.status(), 'deferred', 'no other step is done');
select results_eq(
    $$select t.step, t.rows from dispatch.tick('promote') as t$$, $$values ('promote', 1)$$,
    'the step that is named is'
);
select is(pg_temp.status(), 'queued', 'here the promotion');
select is(dispatch_test.error_of($$select dispatch.tick('all')$$), 'PD400 p_only', 'no step');
select is(dispatch_test.error_of($$select dispatch.tick('')$$), 'PD400 p_only', 'a blank one');
select is(
    dispatch_test.error_of('select dispatch.tick()', 'dispatch_worker'), '42501',
    'a daemon makes no tick'
);
select is(
    dispatch_test.error_of('select dispatch.tick()', 'dispatch_service'), '42501',
    'nor does the service'
);
select is(
    dispatch_test.error_of('select dispatch.tick()', 'dispatch_operator'), '00000',
    'an operator does'
);

select * from finish();
rollback;

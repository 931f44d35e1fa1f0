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
from generate_series(1, 2) as n;

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

select dispatch.put_runtime(dispatch_test.id(1), dispatch_test.id(6), 'daemon-1');
select dispatch.put_agent(
    dispatch_test.id(1), dispatch_test.id(5), 'beta', dispatch_test.id(2), dispatch_test.id(6)
);
create temp table run on commit drop as
select
    pg_temp.later(4, 1, interval '1 second') as a,
    pg_temp.later(5, 2, interval '1 second') as b;
select dispatch_test.advance_clock(interval '151 seconds');

select is(dispatch.promote_deferred(dispatch_test.id(1)), 0, 'R1: nothing of a stale runtime');
select dispatch.heartbeat(
    dispatch_test.id(1), array[dispatch_test.id(3), dispatch_test.id(6)]
);
insert into dispatch.workspace_pause (
    workspace_id, id, reason, paused_at, paused_by_type
)
values (dispatch_test.id(1), dispatch_test.id(90), 'stop', dispatch.clock(), 'system');
select is(
    dispatch.promote_deferred(dispatch_test.id(1)), 0, 'R17: nothing in a paused workspace'
);
update dispatch.workspace_pause as p
set released_at = dispatch.clock(), released_by_type = 'system';
select is(
    dispatch.promote_deferred(dispatch_test.id(1), array[dispatch_test.id(99)]), 0,
    'an unknown runtime has nothing'
);
select is(
    dispatch.promote_deferred(dispatch_test.id(1), '{}'), 0, 'nor has an empty set'
);
select is(
    dispatch.promote_deferred(
        dispatch_test.id(1), array[dispatch_test.id(6), dispatch_test.id(6)]
    ),
    1,
    'only the runtimes named are looked at'
);
select results_eq(
    'select pg_temp.status_of(r.a), pg_temp.status_of(r.b) from run as r',
    $$values ('deferred', 'queued')$$,
    'and the others left alone'
);
select is(
    concat_ws(
        ', ',
        dispatch_test.error_of('select dispatch.promote_deferred(null)'),
        dispatch_test.error_of(
            'select dispatch.promote_deferred(dispatch_test.id(1), null, null)'
        ),
        dispatch_test.error_of(
            'select dispatch.promote_deferred(dispatch_test.id(1), null, -1)'
        )
    ),
    'PD400 p_workspace_id, PD400 p_max, PD400 p_max',
    'the arguments are required'
);
select is(
    dispatch.promote_deferred(dispatch_test.id(1), null, 0), 0,
    'no more is queued than asked for'
);
select is(
    dispatch.promote_deferred(dispatch_test.id(1), null, 1), 1, 'NULL means all runtimes'
);

select * from finish();
rollback;

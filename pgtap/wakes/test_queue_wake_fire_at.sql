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

create function pg_temp.ask(p_fire_at timestamptz, p_key text default null)
returns text
language sql
as $fn$
    select concat_ws(' ', d.outcome, d.reason_code)
    from dispatch.queue_wake(
        dispatch_test.id(1), dispatch_test.id(4), 'later', '{}', p_key, dispatch_test.id(101),
        p_fire_at => p_fire_at, p_coalesce => false
    ) as d;
$fn$;

select is(
    pg_temp.ask(dispatch.clock() + interval '1 microsecond'), 'deferred deferred',
    'a wake for the future is deferred'
);
select is(
    pg_temp.ask(dispatch.clock() + interval '1 hour', 'k'), 'deferred deferred',
    'a deferred run holds no slot'
);
select is(
    pg_temp.ask(dispatch.clock() + interval '1 hour', 'k'), 'deduplicated duplicate_recent',
    'its key counts'
);
select is(
    (select count(*) from dispatch.run_trigger), 0::bigint, 'it merges with nothing'
);
select results_eq(
    $$
    select r.status::text, r.fire_at, r.requested_at
    from dispatch.runs as r
    where r.idempotency_key = 'k'
    $$,
    $$
    values (
        'deferred', '2030-01-15 13:00:00+00'::timestamptz, '2030-01-15 12:00:00+00'::timestamptz
    )
    $$,
    'the run knows when it is due and since when it waits'
);
select is(
    pg_temp.ask(dispatch.clock()), 'queued queued', 'a wake for this very instant is queued'
);
select is(
    pg_temp.ask(dispatch.clock() - interval '1 day'), 'absorbed already_active',
    'a wake for the past is one for now'
);
select is(
    pg_temp.ask(dispatch.clock() + interval '1 day'), 'deferred deferred',
    'a wake for the future is not absorbed'
);
select is(
    (
        select concat_ws(' ', d.outcome, d.reason_code)
        from dispatch.queue_wake(
            dispatch_test.id(1), dispatch_test.id(99), 'later',
            p_fire_at => dispatch.clock() + interval '1 day'
        ) as d
    ),
    'blocked invocation_not_allowed',
    'the first gates judge a deferred wake too'
);

select * from finish();
rollback;

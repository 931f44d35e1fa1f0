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
insert into dispatch.issue (
    workspace_id, id, number, title, status, priority, creator_type, created_at, updated_at
)
select
    dispatch_test.id(1), dispatch_test.id(100 + n), n, 'issue', 'todo', 'none', 'system',
    dispatch.clock(), dispatch.clock()
from generate_series(1, 3) as n;

create function pg_temp.wake(
    p_issue integer,
    p_payload jsonb default '{}',
    p_priority integer default 0
)
returns uuid
language sql
as $fn$
    select d.run_id
    from dispatch.queue_wake(
        dispatch_test.id(1), dispatch_test.id(4), 'mention', p_payload,
        p_issue_id => dispatch_test.id(100 + p_issue), p_priority => p_priority
    ) as d;
$fn$;

create temp table run on commit drop as
select pg_temp.wake(1) as a, pg_temp.wake(2) as b, pg_temp.wake(3) as c;
select count(*) from dispatch.claim_runs(dispatch_test.id(1), array[dispatch_test.id(3)], 3, 3);
create function pg_temp.reclaimed()
returns text
language sql
as $fn$
    select string_agg(
        case c.run_id when r.a then 'a' when r.b then 'b' when r.c then 'c' end
        || c.claim_no, ' '
    )
    from run as r
    cross join lateral dispatch.reclaim_runs(
        dispatch_test.id(1), array[dispatch_test.id(3)], 10
    ) as c;
$fn$;
select dispatch.extend_lease(
    dispatch_test.id(1), (select r.b from run as r), 1, interval '91 seconds'
);
update dispatch.run as r
set lease_expires_at = null
where r.id = (select q.c from run as q);

select dispatch_test.set_clock('2030-01-15 12:01:29+00');
select is(pg_temp.reclaimed(), null, 'R4: a claim of 89 seconds is left alone');
select dispatch_test.set_clock('2030-01-15 12:01:30+00');
select is(pg_temp.reclaimed(), null, 'R4: so is one of exactly 90 seconds');
select dispatch_test.set_clock('2030-01-15 12:01:31+00');
select is(
    pg_temp.reclaimed(), 'a2 c2',
    'R4: one of 91 seconds is handed out again when its lease has run out or it has none'
);
select results_eq(
    $$
    select v.status::text, v.claim_no, v.attempt, v.dispatched_at, v.lease_expires_at
    from dispatch.runs as v
    where v.id = (select r.a from run as r)
    $$,
    $$
    values (
        'dispatched', 2, 1, '2030-01-15 12:01:31+00'::timestamptz,
        '2030-01-15 12:02:16+00'::timestamptz
    )
    $$,
    'R4: it stays dispatched, with a new instant and lease and the same attempt'
);
select dispatch_test.set_clock('2030-01-15 12:01:31.000001+00');
select is(pg_temp.reclaimed(), 'b2', 'R4: a lease protects until it has run out');
select dispatch_test.set_clock('2030-01-15 12:03:10+00');
select dispatch.start_run(dispatch_test.id(1), (select r.a from run as r), 2);
select dispatch.wait_run(dispatch_test.id(1), (select r.b from run as r), 2, 'checkout');
select dispatch_test.set_clock('2030-01-15 12:10:00+00');
select dispatch.heartbeat(dispatch_test.id(1), array[dispatch_test.id(3)]);
select is(pg_temp.reclaimed(), 'c3', 'neither a running nor a waiting run is handed out again');

select * from finish();
rollback;

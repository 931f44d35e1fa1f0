begin;
select plan(11);

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

create temp table run on commit drop as select pg_temp.wake(1) as a, pg_temp.wake(2) as b;
select count(*) from dispatch.claim_runs(dispatch_test.id(1), array[dispatch_test.id(3)], 2, 2);
create function pg_temp.extend(p_run_id uuid, p_lease interval default null)
returns text
language sql
as $fn$
    select concat_ws(' ', t.applied, t.reason)
    from dispatch.extend_lease(dispatch_test.id(1), p_run_id, 1, p_lease) as t;
$fn$;
create function pg_temp.lease_of(p_run_id uuid)
returns interval
language sql
as $fn$
    select v.lease_expires_at - '2030-01-15 12:00:00+00' from dispatch.runs as v
    where v.id = p_run_id;
$fn$;

select dispatch_test.advance_clock(interval '30 seconds');
select is(pg_temp.extend((select r.a from run as r)), 't', 'a live lease is extended');
select is(
    pg_temp.lease_of((select r.a from run as r)), interval '75 seconds',
    'by the declared length when none is given'
);
select is(
    pg_temp.extend((select r.a from run as r), interval '24 hours'), 't',
    'R09: 24 hours are the most'
);
select pg_temp.extend((select r.a from run as r), interval '1 second');
select is(
    pg_temp.lease_of((select r.a from run as r)), interval '24 hours 30 seconds',
    'R09: an extension never moves the expiry backwards'
);

select dispatch_test.set_clock('2030-01-15 12:00:45+00');
select is(
    pg_temp.extend((select r.b from run as r), interval '1 second'), 't',
    'a lease can be extended until it has run out'
);
select dispatch_test.set_clock('2030-01-15 12:00:46.000001+00');
select is(
    pg_temp.extend((select r.b from run as r)), 'f lease_expired',
    'R09: a lease that has run out is not'
);
select is(
    pg_temp.lease_of((select r.b from run as r)), interval '46 seconds', 'nor does it move'
);
select dispatch.start_run(dispatch_test.id(1), (select r.b from run as r), 1);
select is(
    pg_temp.extend((select r.b from run as r)), 'f wrong_state',
    'S6: a run that was started without a lease has none to extend'
);
select dispatch.start_run(
    dispatch_test.id(1), (select r.a from run as r), 1, interval '1 minute'
);
select is(
    pg_temp.extend((select r.a from run as r), interval '5 minutes'), 't',
    'a run that was started with a lease is kept alive'
);
select dispatch_test.advance_clock(interval '1 hour');
select is(
    pg_temp.extend((select r.a from run as r)), 'f lease_expired',
    'and when its lease has run out it is too late'
);
select is(
    (
        select t.status::text
        from dispatch.complete_run(dispatch_test.id(1), (select r.a from run as r), 1) as t
    ),
    'completed',
    'which refuses no other report'
);

select * from finish();
rollback;

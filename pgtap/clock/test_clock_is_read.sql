begin;
select plan(5);

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

-- the clock of a transaction that began long ago
select dispatch_test.set_clock('2031-05-01 00:00:00+00');
select dispatch.heartbeat(dispatch_test.id(1), array[dispatch_test.id(3)]);
create temp table run on commit drop as
select pg_temp.wake(1) as a, pg_temp.wake(2) as b;
select is(
    (select max(v.requested_at) from dispatch.runs as v), '2031-05-01 00:00:00+00'::timestamptz,
    'R27: a wake is stamped by the clock, not by the transaction''s begin'
);
select dispatch_test.advance_clock(interval '12 seconds');
select results_eq(
    $$
    select c.dispatched_at, c.lease_expires_at
    from dispatch.claim_runs(dispatch_test.id(1), array[dispatch_test.id(3)], 2, 2) as c
    $$,
    $$
    values
    ('2031-05-01 00:00:12+00'::timestamptz, '2031-05-01 00:00:57+00'::timestamptz),
    ('2031-05-01 00:00:12+00', '2031-05-01 00:00:57+00')
    $$,
    'R27: a claim has its full lease from when it was made'
);
select dispatch_test.advance_clock(interval '12 seconds');
select dispatch.start_run(
    dispatch_test.id(1), (select r.a from run as r), 1, interval '1 minute'
);
select results_eq(
    $$
    select v.started_at, v.lease_expires_at
    from dispatch.runs as v
    where v.id = (select r.a from run as r)
    $$,
    $$
    values ('2031-05-01 00:00:24+00'::timestamptz, '2031-05-01 00:01:24+00'::timestamptz)
    $$,
    'R27: so has a start'
);
select dispatch_test.advance_clock(interval '12 seconds');
select dispatch.complete_run(dispatch_test.id(1), (select r.a from run as r), 1);
select is(
    (select v.finished_at from dispatch.runs as v where v.id = (select r.a from run as r)),
    '2031-05-01 00:00:36+00'::timestamptz,
    'R27: an end is stamped when it is reported'
);
select dispatch_test.release_clock();
create temp table late on commit drop as select pg_temp.wake(3) as id;
select ok(
    (
        select v.requested_at between transaction_timestamp() and clock_timestamp()
        from dispatch.runs as v
        where v.id = (select l.id from late as l)
    ),
    'R27: the clock that nobody pins is the wall clock'
);

select * from finish();
rollback;

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
select dispatch_test.advance_clock(interval '1 hour');

select results_eq(
    $$
    select t.applied, t.run_id, t.status::text, t.claim_no, t.reason
    from dispatch.start_run(dispatch_test.id(1), (select r.a from run as r), 1) as t
    $$,
    $$select true, r.a, 'running', 1, null::text from run as r$$,
    'S1: a dispatched run starts although its lease has run out long ago'
);
select results_eq(
    $$
    select v.started_at, v.lease_expires_at, v.dispatched_at
    from dispatch.runs as v
    where v.id = (select r.a from run as r)
    $$,
    $$
    values (
        '2030-01-15 13:00:00+00'::timestamptz, null::timestamptz,
        '2030-01-15 12:00:00+00'::timestamptz
    )
    $$,
    'S1: started_at is set and the lease ends'
);
select dispatch.wait_run(dispatch_test.id(1), (select r.b from run as r), 1, 'checkout');
select dispatch.start_run(dispatch_test.id(1), (select r.b from run as r), 1);
select results_eq(
    $$
    select v.status::text, v.wait_reason, v.lease_expires_at
    from dispatch.runs as v
    where v.id = (select r.b from run as r)
    $$,
    $$values ('running', null::text, null::timestamptz)$$,
    'S1: a run that waited shows no reason to wait any more'
);
select dispatch.start_run(
    dispatch_test.id(1), (select r.c from run as r), 1, interval '24 hours'
);
select is(
    (select v.lease_expires_at from dispatch.runs as v where v.id = (select r.c from run as r)),
    '2030-01-16 13:00:00+00'::timestamptz,
    'with a lease the running run itself expires'
);
select is(
    (
        select t.reason
        from dispatch.start_run(dispatch_test.id(1), (select r.c from run as r), 1) as t
    ),
    'wrong_state',
    'a repeated start is refused'
);
select is(
    (select v.lease_expires_at from dispatch.runs as v where v.id = (select r.c from run as r)),
    '2030-01-16 13:00:00+00'::timestamptz,
    'and leaves the lease alone'
);

select * from finish();
rollback;

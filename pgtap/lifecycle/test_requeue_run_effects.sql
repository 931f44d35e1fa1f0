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

create temp table run on commit drop as
select pg_temp.wake(1, p_priority => 1) as a, pg_temp.wake(2) as b;
select count(*) from dispatch.claim_run(dispatch_test.id(1), dispatch_test.id(4));

select dispatch_test.advance_clock(interval '2 hours');
select results_eq(
    $$
    select t.applied, t.status::text, t.claim_no
    from dispatch.requeue_run(dispatch_test.id(1), (select r.a from run as r), 1) as t
    $$,
    $$values (true, 'queued', 1)$$,
    'a claim is given back, even after its lease'
);
select results_eq(
    $$
    select v.requested_at, v.dispatched_at, v.lease_expires_at, v.attempt
    from dispatch.runs as v
    where v.id = (select r.a from run as r)
    $$,
    $$
    values (
        '2030-01-15 12:00:00+00'::timestamptz, null::timestamptz, null::timestamptz, 1
    )
    $$,
    'the run keeps its place and uses no attempt'
);
select is(
    (
        select t.reason
        from dispatch.requeue_run(dispatch_test.id(1), (select r.a from run as r), 1) as t
    ),
    'wrong_state',
    'giving it back twice is refused'
);
select dispatch.heartbeat(dispatch_test.id(1), array[dispatch_test.id(3)]);
select results_eq(
    $$
    select c.run_id, c.claim_no
    from dispatch.claim_run(dispatch_test.id(1), dispatch_test.id(4)) as c
    $$,
    $$select r.a, 2 from run as r$$,
    'the next claim takes it first again, under the next number'
);
select is(
    (
        select t.reason
        from dispatch.requeue_run(dispatch_test.id(1), (select r.a from run as r), 1) as t
    ),
    'superseded',
    'an old handler cannot take it away from the new claim'
);
select is(
    (select v.status::text from dispatch.runs as v where v.id = (select r.a from run as r)),
    'dispatched',
    'which goes on'
);

select * from finish();
rollback;

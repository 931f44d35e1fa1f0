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

create temp table run on commit drop as select pg_temp.wake(1) as id;
select count(*) from dispatch.claim_run(dispatch_test.id(1), dispatch_test.id(4));

select dispatch.start_run(dispatch_test.id(1), (select r.id from run as r), 1);

select results_eq(
    $$
    select t.applied, t.status::text, t.claim_no, t.retry_run_id
    from dispatch.defer_run(
        dispatch_test.id(1), (select r.id from run as r), 1, '2030-01-22 12:00:00+00'
    ) as t
    $$,
    $$values (true, 'deferred', 1, null::uuid)$$,
    'R14: a worker puts its run off'
);
select results_eq(
    $$
    select v.attempt, v.fire_at, v.dispatched_at, v.started_at, v.lease_expires_at
    from dispatch.runs as v
    $$,
    $$
    values (
        1, '2030-01-22 12:00:00+00'::timestamptz, null::timestamptz, null::timestamptz,
        null::timestamptz
    )
    $$,
    'R14: that uses no attempt and ends the claim'
);
select isnt(
    pg_temp.wake(1), (select r.id from run as r), 'its slot is free meanwhile'
);
select dispatch.cancel_run(dispatch_test.id(1), v.id, 'system')
from dispatch.runs as v
where v.status = 'queued';

select dispatch_test.set_clock('2030-01-22 11:59:59.999999+00');
select dispatch.heartbeat(dispatch_test.id(1), array[dispatch_test.id(3)]);
select is(dispatch.promote_deferred(dispatch_test.id(1)), 0, 'R14: it is not queued too early');
select dispatch_test.advance_clock(interval '1 microsecond');
select is(dispatch.promote_deferred(dispatch_test.id(1)), 1, 'R14: but at its time');
select is(dispatch.promote_deferred(dispatch_test.id(1)), 0, 'R14: and once');

-- ten rounds of a run that may be attempted once
create temp table stubborn on commit drop as
select d.run_id
from dispatch.queue_wake(
    dispatch_test.id(1), dispatch_test.id(5), 'mention', p_max_attempts => 1
) as d;
do $do$
begin
    for v_round in 1..10 loop
        perform dispatch.claim_run(dispatch_test.id(1), dispatch_test.id(5));
        perform dispatch.start_run(
            dispatch_test.id(1), (select s.run_id from stubborn as s), v_round
        );
        perform dispatch.defer_run(
            dispatch_test.id(1), (select s.run_id from stubborn as s), v_round,
            dispatch.clock() - interval '1 day'
        );
        perform dispatch.promote_deferred(dispatch_test.id(1));
    end loop;
end;
$do$;
select results_eq(
    $$
    select v.status::text, v.claim_no, v.attempt
    from dispatch.runs as v
    where v.id = (select s.run_id from stubborn as s)
    $$,
    $$values ('queued', 10, 1)$$,
    'R14: ten times put off until a time that is past means ten times now'
);
select is(
    (
        select v.fire_at
        from stubborn as s
        inner join dispatch.runs as v on v.id = s.run_id
    ),
    dispatch.clock(),
    'R14: it was due when it was put off'
);
select count(*) from dispatch.claim_run(dispatch_test.id(1), dispatch_test.id(5));
select dispatch.start_run(dispatch_test.id(1), (select s.run_id from stubborn as s), 11);
select is(
    (
        select t.applied
        from dispatch.complete_run(
            dispatch_test.id(1), (select s.run_id from stubborn as s), 11
        ) as t
    ),
    true,
    'R14: and the only attempt can still complete'
);

select * from finish();
rollback;

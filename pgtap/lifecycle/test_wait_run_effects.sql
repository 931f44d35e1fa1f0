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

select dispatch.put_agent(
    dispatch_test.id(1), dispatch_test.id(4), 'alpha', dispatch_test.id(2),
    p_max_concurrent_runs => 1
);
create temp table run on commit drop as select pg_temp.wake(1) as id;
select pg_temp.wake(2);
select count(*) from dispatch.claim_run(dispatch_test.id(1), dispatch_test.id(4));

select dispatch_test.advance_clock(interval '40 seconds');
select results_eq(
    $$
    select t.applied, t.status::text, t.claim_no
    from dispatch.wait_run(
        dispatch_test.id(1), (select r.id from run as r), 1, '  checkout is locked '
    ) as t
    $$,
    $$values (true, 'waiting_local_directory', 1)$$,
    'S5: a dispatched run begins to wait'
);
select results_eq(
    $$
    select v.wait_reason, v.lease_expires_at, v.started_at
    from dispatch.runs as v
    where v.id = (select r.id from run as r)
    $$,
    $$
    values ('checkout is locked', '2030-01-15 12:01:25+00'::timestamptz, null::timestamptz)
    $$,
    'S5: it says why and its lease begins anew'
);
select is_empty(
    'select c.run_id from dispatch.claim_run(dispatch_test.id(1), dispatch_test.id(4)) as c',
    'S5: a waiting run counts against the capacity'
);
select is(
    (
        select t.applied
        from dispatch.extend_lease(
            dispatch_test.id(1), (select r.id from run as r), 1, interval '1 hour'
        ) as t
    ),
    true,
    'its lease can be extended'
);
select dispatch.fail_run(dispatch_test.id(1), (select r.id from run as r), 1);
select is(
    (select v.wait_reason from dispatch.runs as v where v.id = (select r.id from run as r)),
    null,
    'the view shows the reason only while the run waits'
);

select * from finish();
rollback;

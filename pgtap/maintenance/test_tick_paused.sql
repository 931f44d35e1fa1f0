begin;
select plan(4);

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
from generate_series(1, 2) as n;

select dispatch.queue_wake(
    dispatch_test.id(1), dispatch_test.id(4), 'due',
    p_fire_at => dispatch.clock() + interval '1 second'
);
select dispatch.queue_wake(
    dispatch_test.id(1), dispatch_test.id(4), 'waiting', p_issue_id => dispatch_test.id(101)
);
create temp table running on commit drop as
select d.run_id as id
from dispatch.queue_wake(
    dispatch_test.id(1), dispatch_test.id(4), 'running', p_issue_id => dispatch_test.id(102),
    p_priority => 9
) as d;
select dispatch.claim_run(dispatch_test.id(1), dispatch_test.id(4));
select dispatch.start_run(dispatch_test.id(1), r.id, 1, interval '1 hour') from running as r;
select dispatch.pause_workspace(dispatch_test.id(1), 'system', p_reason => 'holiday');
select dispatch_test.advance_clock(interval '3 hours');
select dispatch.heartbeat(dispatch_test.id(1), array[dispatch_test.id(3)]);

select results_eq(
    'select t.step, t.rows from dispatch.tick() as t',
    $$values ('replay', 0), ('promote', 0), ('sweep', 1), ('prune', 0)$$,
    'R17: a pause stops promotion and expiry, not the end of what has stopped'
);
select is(
    (
        select string_agg(concat_ws(' ', v.reason, v.status), ', ' order by v.id)
        from dispatch.runs as v
    ),
    'due deferred, waiting queued, running failed, running queued',
    'R17: a retry waits in the queue like everything else'
);
select is(
    (
        select count(*)
        from dispatch.claim_runs(dispatch_test.id(1), array[dispatch_test.id(3)], 9, 9)
    ),
    0::bigint, 'R17: nothing is handed out'
);
select dispatch.resume_workspace(dispatch_test.id(1), 'system');
select is(
    (
        select count(*)
        from dispatch.claim_runs(dispatch_test.id(1), array[dispatch_test.id(3)], 9, 9)
    ),
    3::bigint, 'R17: after the resume all of it is, once'
);

select * from finish();
rollback;

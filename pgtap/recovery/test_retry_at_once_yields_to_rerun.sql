begin;
select plan(3);

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
from generate_series(1, 1) as n;

create temp table run on commit drop as
select d.run_id as id
from dispatch.queue_wake(
    dispatch_test.id(1), dispatch_test.id(4), 'work', '{"n": 1}',
    p_issue_id => dispatch_test.id(101)
) as d;
select dispatch.claim_run(dispatch_test.id(1), dispatch_test.id(4));
select dispatch.start_run(dispatch_test.id(1), r.id, 1) from run as r;
create temp table again on commit drop as
select d.run_id as id
from run as r
cross join lateral dispatch.rerun(
    dispatch_test.id(1), r.id, 'user', dispatch_test.id(2)
) as d;

select results_eq(
    $$select t.applied, t.retry_run_id, t.follow_up_run_id
    from run as r
    cross join lateral dispatch.fail_run(dispatch_test.id(1), r.id, 1, 'timeout') as t$$,
    'values (true, null::uuid, null::uuid)',
    'a retry that finds a rerun in the slot yields, and the failure stands'
);
select is((select count(*) from dispatch.run), 2::bigint, 'no child is made');
select results_eq(
    $$select c.run_id, jsonb_array_length(c.triggers), c.triggers -> 0 -> 'payload'
    from dispatch.claim_run(dispatch_test.id(1), dispatch_test.id(4)) as c$$,
    $$select a.id, 1, '{"n": 1}'::jsonb from again as a$$,
    'the rerun delivers the wake once'
);

select * from finish();
rollback;

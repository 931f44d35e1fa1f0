begin;
select plan(5);

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
create temp table answer on commit drop as
select t.applied, t.retry_run_id
from run as r
cross join lateral dispatch.fail_run(
    dispatch_test.id(1), r.id, 1, 'runtime_offline'
) as t;

select results_eq(
    'select a.applied, a.retry_run_id is not null from answer as a', 'values (true, true)',
    'the retry of a lost runtime is armed although a rerun is queued: it holds no slot'
);
select results_eq(
    $$select c.run_id, jsonb_array_length(c.triggers), c.triggers -> 0 -> 'payload'
    from dispatch.claim_run(dispatch_test.id(1), dispatch_test.id(4)) as c$$,
    $$select a.id, 1, '{"n": 1}'::jsonb from again as a$$,
    'the rerun is claimed and delivers each wake once, though it came along two ways'
);
select is(
    (
        select v.status::text
        from dispatch.runs as v
        inner join answer as a on a.retry_run_id = v.id
    ),
    'cancelled', '5.5: the rerun replaces the armed retry'
);
select dispatch.start_run(dispatch_test.id(1), a.id, 1) from again as a;
select dispatch_test.advance_clock(interval '1 minute');
select is(dispatch.promote_deferred(dispatch_test.id(1)), 0, 'nothing is left to promote');
select is(
    (select count(*) from dispatch.run as r where r.status not in ('failed', 'cancelled')),
    1::bigint, 'the rerun is the only live run of the pair'
);

select * from finish();
rollback;

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
    dispatch_test.id(1), dispatch_test.id(4), 'work', p_issue_id => dispatch_test.id(101)
) as d;
select dispatch.queue_wake(
    dispatch_test.id(1), dispatch_test.id(4), 'other', p_issue_id => dispatch_test.id(101)
);
select dispatch.claim_run(dispatch_test.id(1), dispatch_test.id(4));
select dispatch.fail_run(dispatch_test.id(1), r.id, 1, 'timeout') from run as r;
select dispatch.claim_run(dispatch_test.id(1), dispatch_test.id(4));
select dispatch.fail_run(dispatch_test.id(1), r.id, 1, 'agent_error')
from dispatch.run as r
where r.status = 'dispatched';
create function pg_temp.counted()
returns text
language sql
as $fn$
    select concat_ws(
        ' ',
        (select c.value from dispatch.gate_counters as c where c.reason = 'already_active'),
        (select count(*) from dispatch.run_trigger as t where t.outcome = 'absorbed')
    );
$fn$;

select is(pg_temp.counted(), '1 2', 'a wake that a retry inherited is counted once');
select dispatch_test.advance_clock(interval '2161 hours');
select is(
    (select t.rows from dispatch.tick('prune') as t), 2, 'the run and its retry are deleted'
);
select is(pg_temp.counted(), '1 0', 'and it is still counted once');

select * from finish();
rollback;

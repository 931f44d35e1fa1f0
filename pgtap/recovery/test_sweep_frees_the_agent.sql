begin;
select plan(6);

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

select dispatch.put_agent(
    dispatch_test.id(1), dispatch_test.id(5), 'beta', dispatch_test.id(2), dispatch_test.id(3),
    p_max_concurrent_runs => 1
);
create temp table run on commit drop as
select
    (
        select d.run_id
        from dispatch.queue_wake(
            dispatch_test.id(1), dispatch_test.id(5), 'first',
            p_issue_id => dispatch_test.id(101)
        ) as d
    ) as first,
    (
        select d.run_id
        from dispatch.queue_wake(
            dispatch_test.id(1), dispatch_test.id(5), 'second',
            p_issue_id => dispatch_test.id(102), p_priority => -1
        ) as d
    ) as second;
select dispatch.claim_run(dispatch_test.id(1), dispatch_test.id(5));
select dispatch.start_run(dispatch_test.id(1), r.first, 1, interval '1 minute')
from run as r;
create function pg_temp.beat(p_by interval)
returns void
language sql
as $fn$
    select dispatch_test.advance_clock(p_by);
    select dispatch.heartbeat(dispatch_test.id(1), array[dispatch_test.id(3)]);
$fn$;

select pg_temp.beat(interval '1 minute');
select is(
    (select sum(s.runs) from dispatch.sweep() as s), 0::bigint,
    'R07: while its lease lasts a run is left alone'
);
select is(
    (select count(*) from dispatch.claim_run(dispatch_test.id(1), dispatch_test.id(5))),
    0::bigint, 'its agent is at its capacity'
);
select pg_temp.beat(interval '1 microsecond');
select results_eq(
    'select s.sweep, s.runs from dispatch.sweep() as s where s.runs > 0',
    $$values ('running', 1)$$,
    'R07: a run that stops extending its lease is ended although its runtime is alive'
);
select is(
    (
        select t.reason
        from run as r
        cross join lateral dispatch.extend_lease(dispatch_test.id(1), r.first, 1) as t
    ),
    'already_terminal', 'its daemon is told'
);
select results_eq(
    $$select c.attempt, c.reason
    from dispatch.claim_run(dispatch_test.id(1), dispatch_test.id(5)) as c$$,
    $$values (2, 'first')$$,
    'R07: one more run of the agent can be claimed, here the retry'
);
select is(
    (select count(*) from dispatch.claim_run(dispatch_test.id(1), dispatch_test.id(5))),
    0::bigint, 'R01: and no second one'
);

select * from finish();
rollback;

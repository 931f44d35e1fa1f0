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

select dispatch_test.advance_clock(interval '60 seconds');
select is_empty(
    $$
    select c.run_id
    from dispatch.reclaim_runs(dispatch_test.id(1), array[dispatch_test.id(3)]) as c
    $$,
    'R06: within the window nothing is handed out again'
);
select dispatch_test.advance_clock(interval '31 seconds');
select is(
    (
        select c.claim_no
        from dispatch.reclaim_runs(dispatch_test.id(1), array[dispatch_test.id(3)]) as c
    ),
    2,
    'R06: beyond it the run is, under the next number'
);
select dispatch.start_run(dispatch_test.id(1), (select r.id from run as r), 2);
create temp table shot on commit drop as
select r::text || d::text || r.ctid::text || d.ctid::text as shot
from dispatch.run as r
cross join dispatch.run_detail as d;

select results_eq(
    $$
    select t.applied, t.status::text, t.claim_no, t.reason
    from run as r
    cross join lateral (
        select s.applied, s.status, s.claim_no, s.reason
        from dispatch.start_run(dispatch_test.id(1), r.id, 1) as s
        union all
        select s.applied, s.status, s.claim_no, s.reason
        from dispatch.fail_run(dispatch_test.id(1), r.id, 1, 'timeout') as s
        union all
        select s.applied, s.status, s.claim_no, s.reason
        from dispatch.complete_run(dispatch_test.id(1), r.id, 1) as s
        union all
        select s.applied, s.status, s.claim_no, s.reason
        from dispatch.extend_lease(dispatch_test.id(1), r.id, 1) as s
        union all
        select s.applied, s.status, s.claim_no, s.reason
        from dispatch.defer_run(dispatch_test.id(1), r.id, 1, dispatch.clock()) as s
    ) as t
    $$,
    $$
    values
    (false, 'running', 2, 'superseded'), (false, 'running', 2, 'superseded'),
    (false, 'running', 2, 'superseded'), (false, 'running', 2, 'superseded'),
    (false, 'running', 2, 'superseded')
    $$,
    'R06: every report with the old number is superseded'
);
select is(
    (
        select r::text || d::text || r.ctid::text || d.ctid::text
        from dispatch.run as r
        cross join dispatch.run_detail as d
    ),
    (select s.shot from shot as s),
    'R06: and leaves the row as it is'
);
select is(
    (
        select t.applied
        from dispatch.complete_run(dispatch_test.id(1), (select r.id from run as r), 2) as t
    ),
    true,
    'R06: the new number completes'
);
select is(
    (
        select t.reason
        from dispatch.complete_run(dispatch_test.id(1), (select r.id from run as r), 1) as t
    ),
    'superseded',
    'R06: the old one stays superseded even then'
);

select * from finish();
rollback;

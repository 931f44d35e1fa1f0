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
from generate_series(1, 20) as n;

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

-- twenty wakes in one transaction at one instant, fifty times over
create function pg_temp.arrival()
returns boolean
language plpgsql
as $fn$
declare
    v_asked uuid[] := '{}';
    v_taken uuid[] := '{}';
    v_run uuid;
begin
    for v_issue in 1..20 loop
        v_asked := v_asked || pg_temp.wake(v_issue);
    end loop;
    for v_turn in 1..20 loop
        select c.run_id
        into v_run
        from dispatch.claim_runs(
            dispatch_test.id(1), array[dispatch_test.id(3)], p_start => true
        ) as c;
        v_taken := v_taken || v_run;
        perform dispatch.complete_run(dispatch_test.id(1), v_run, 1);
    end loop;
    return v_asked = v_taken;
end;
$fn$;
select is(
    (select count(*) from generate_series(1, 50) as n where pg_temp.arrival()),
    50::bigint,
    'R05: runs of one priority are served in the order in which they were asked for'
);

-- a run that was given back, one that was deferred and one that was asked for just now
create temp table run on commit drop as
select pg_temp.wake(1) as requeued, pg_temp.wake(2) as deferred;
select count(*) from dispatch.claim_runs(dispatch_test.id(1), array[dispatch_test.id(3)], 2, 2);
select dispatch.defer_run(
    dispatch_test.id(1), (select r.deferred from run as r), 1, dispatch.clock()
);
select dispatch_test.advance_clock(interval '1 second');
create temp table fresh on commit drop as select pg_temp.wake(3) as id;
select dispatch.requeue_run(dispatch_test.id(1), (select r.requeued from run as r), 1);
select dispatch.promote_deferred(dispatch_test.id(1));
select results_eq(
    $$
    select c.run_id
    from dispatch.claim_runs(dispatch_test.id(1), array[dispatch_test.id(3)], 3, 3) as c
    $$,
    $$
    select u.id
    from run as r
    cross join fresh as f
    cross join lateral unnest(array[r.requeued, r.deferred, f.id]) as u (id)
    $$,
    'R05: what was given back or deferred keeps its place among the fresh'
);
select count(*) from dispatch.fail_runs(
    dispatch_test.id(1),
    (
        select jsonb_agg(jsonb_build_object('run_id', v.id, 'claim_no', v.claim_no))
        from dispatch.runs as v
        where v.status = 'dispatched'
    )
);

-- a claim that was lost of a run of high priority beside five fresh ones
create temp table lost on commit drop as select pg_temp.wake(4, '{}', 10) as id;
select count(*) from dispatch.claim_run(dispatch_test.id(1), dispatch_test.id(4));
select dispatch_test.advance_clock(interval '91 seconds');
select pg_temp.wake(n) from generate_series(5, 9) as n;
select results_eq(
    $$
    select c.run_id, c.reclaimed
    from dispatch.claim_runs(dispatch_test.id(1), array[dispatch_test.id(3)], 1, 1) as c
    $$,
    'select l.id, true from lost as l',
    'R05: a run handed out again is served by its priority'
);
select results_eq(
    $$
    select c.priority, count(*)
    from dispatch.claim_runs(dispatch_test.id(1), array[dispatch_test.id(3)], 6, 6) as c
    group by c.priority
    $$,
    'values (0, 5::bigint)',
    'R05: and the fresh ones after it'
);
select is(
    (select count(*) from dispatch.run as r where r.status = 'dispatched'), 6::bigint,
    'which are then all in hand'
);

select * from finish();
rollback;

begin;
select plan(7);

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

create function pg_temp.wake(p_issue integer, p_n integer)
returns uuid
language sql
as $fn$
    select d.run_id
    from dispatch.queue_wake(
        dispatch_test.id(1), dispatch_test.id(4), 'work', jsonb_build_object('n', p_n),
        p_issue_id => dispatch_test.id(100 + p_issue), p_coalesce => false
    ) as d;
$fn$;
create function pg_temp.rerun(p_run_id uuid)
returns dispatch.decision
language sql
as $fn$
    select d
    from dispatch.rerun(dispatch_test.id(1), p_run_id, 'user', dispatch_test.id(2)) as d;
$fn$;
create function pg_temp.status_of(p_run_id uuid)
returns text
language sql
as $fn$
    select r.status::text from dispatch.run as r where r.id = p_run_id;
$fn$;
-- Claims one run and answers with the numbers of the wakes it delivers.
create function pg_temp.take()
returns text
language sql
as $fn$
    select string_agg(g.wake -> 'payload' ->> 'n', ' ' order by g.place)
    from dispatch.claim_run(dispatch_test.id(1), dispatch_test.id(4)) as c
    cross join lateral jsonb_array_elements(c.triggers)
        with ordinality as g (wake, place);
$fn$;

create temp table run on commit drop as select pg_temp.wake(1, 1) as id;
select pg_temp.wake(1, 2);
select dispatch.claim_run(dispatch_test.id(1), dispatch_test.id(4));
create temp table child on commit drop as
select t.retry_run_id as id
from run as r
cross join lateral dispatch.fail_run(
    dispatch_test.id(1), r.id, 1, 'timeout', 'late', 's', '/w'
) as t;
select pg_temp.wake(1, 3);
create temp table again on commit drop as
select (pg_temp.rerun(r.id)).run_id as id from run as r;

select is(
    (select pg_temp.status_of(c.id) from child as c), 'cancelled',
    'a rerun of a failed run replaces the retry that waits'
);
select is(
    pg_temp.take(), '1 2 3', 'it delivers each wake once, though the retry stood for it as well'
);
select results_eq(
    $$select v.session_id, v.work_dir, v.force_fresh, v.parent_run_id
    from dispatch.runs as v
    inner join again as a on a.id = v.id$$,
    'values (null::text, null::text, true, null::uuid)',
    'R15: it does not take over the session'
);
select dispatch.start_run(dispatch_test.id(1), a.id, 1) from again as a;
select dispatch.complete_run(dispatch_test.id(1), a.id, 1) from again as a;
create temp table third on commit drop as
select (pg_temp.rerun(a.id)).run_id as id from again as a;
select is(pg_temp.take(), '1 2 3', 'a completed run may be asked for again');
select dispatch.start_run(dispatch_test.id(1), t.id, 1) from third as t;
select is(
    (
        select f.retry_run_id is not null
        from third as t
        cross join lateral dispatch.fail_run(
            dispatch_test.id(1), t.id, 1, 'timeout'
        ) as f
    ),
    true, 'a rerun has attempts of its own'
);
select is(pg_temp.take(), '1 2 3', 'and its retry delivers the same');
select is(
    (
        select c.value
        from dispatch.gate_counters as c
        where c.reason = 'already_active'
    ),
    2::bigint, 'each absorbed wake is counted once, where it was absorbed'
);

select * from finish();
rollback;

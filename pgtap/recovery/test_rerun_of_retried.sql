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

create temp table run on commit drop as
select d.run_id as id
from dispatch.queue_wake(
    dispatch_test.id(1), dispatch_test.id(4), 'work', '{"n": 1}',
    p_issue_id => dispatch_test.id(101), p_max_attempts => 9
) as d;
-- Claims and fails what is queued for the pair.
create function pg_temp.fail(p_reason text)
returns void
language sql
as $fn$
    select t
    from dispatch.claim_run(dispatch_test.id(1), dispatch_test.id(4)) as c
    cross join lateral dispatch.fail_run(
        dispatch_test.id(1), c.run_id, c.claim_no, p_reason
    ) as t;
$fn$;

select pg_temp.fail('timeout');
create temp table again on commit drop as
select (pg_temp.rerun(r.id)).run_id as id from run as r;
select is(pg_temp.take(), '1', 'a retry that waits stands for the wake of the run asked for');
select dispatch.requeue_run(dispatch_test.id(1), a.id, 1) from again as a;
select pg_temp.fail('timeout');
select pg_temp.fail('runtime_offline');
select is(
    (select string_agg(r.status::text, ' ') from dispatch.run as r where r.attempt = 3),
    'deferred', 'the rerun has failed twice, and its second retry waits for the runtime'
);
create temp table third on commit drop as
select (pg_temp.rerun(a.id)).run_id as id from again as a;
select is(pg_temp.take(), '1', 'so does the retry of a retry');
select is(
    (select count(*) from dispatch.run as r where r.status not in ('failed', 'cancelled')),
    1::bigint, 'one run of the pair is alive'
);

select * from finish();
rollback;

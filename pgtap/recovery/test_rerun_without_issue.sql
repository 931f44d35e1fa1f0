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

create function pg_temp.chat(p_n integer)
returns uuid
language sql
as $fn$
    select d.run_id
    from dispatch.queue_wake(
        dispatch_test.id(1), dispatch_test.id(4), 'chat', jsonb_build_object('n', p_n),
        p_chat_session_id => dispatch_test.id(50)
    ) as d;
$fn$;
create temp table run on commit drop as
select pg_temp.chat(1) as one, pg_temp.chat(2) as two;
select pg_temp.take();
select dispatch.start_run(dispatch_test.id(1), r.one, 1) from run as r;
create temp table again on commit drop as
select (pg_temp.rerun(r.one)).run_id as id from run as r;

select results_eq(
    $$select v.chat_session_id, v.lane, v.rerun_of_run_id
    from dispatch.runs as v
    inner join again as a on a.id = v.id$$,
    $$select dispatch_test.id(50), dispatch_test.id(50), r.one from run as r$$,
    'a turn of a chat is run again in its chat'
);
select is(
    (select pg_temp.status_of(r.two) from run as r), 'queued',
    'the turns that wait are other wakes and stay'
);
select is(pg_temp.take(), null, 'one run of a chat at once');
select dispatch.complete_run(dispatch_test.id(1), r.one, 1) from run as r;
select is(pg_temp.take(), '2', 'the turn that waits keeps its place');
select dispatch.start_run(dispatch_test.id(1), r.two, 1) from run as r;
select dispatch.complete_run(dispatch_test.id(1), r.two, 1) from run as r;
select is(pg_temp.take(), '1', 'then comes the rerun');

select * from finish();
rollback;

begin;
select plan(12);

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
select dispatch.put_member(dispatch_test.id(1), dispatch_test.id(6), 'Ben');
create function pg_temp.run_id()
returns uuid
language sql
as $fn$
    select r.id from run as r;
$fn$;
-- Asks as the owner; answers OUTCOME CODE and how the waiting run then stands.
create function pg_temp.asked()
returns text
language sql
as $fn$
    select concat_ws(' ', d.outcome, d.reason_code, d.run_id is not null)
    from dispatch.rerun(
        dispatch_test.id(1), pg_temp.run_id(), 'user', dispatch_test.id(2)
    ) as d;
$fn$;
create function pg_temp.untouched()
returns text
language sql
as $fn$
    select string_agg(r.status::text, ' ' order by r.id) from dispatch.run as r;
$fn$;

select is(
    dispatch_test.error_of($$
        select dispatch.rerun(
            dispatch_test.id(1), pg_temp.run_id(), 'user', dispatch_test.id(6)
        )$$),
    'PD403 p_run_id invocation_not_allowed', 'R19: who may not start the agent is refused'
);
select is(pg_temp.untouched(), 'queued', 'R19: and nothing is cancelled');
select dispatch.put_workspace(
    dispatch_test.id(1), 'Works', p_attribution_policy => 'fail_closed'
);
select is(
    (
        select concat_ws(' ', d.outcome, d.reason_code)
        from dispatch.rerun(dispatch_test.id(1), pg_temp.run_id(), 'system') as d
    ),
    'blocked attribution_blocked', 'R19: a rerun for which nobody answers is refused'
);
select is(pg_temp.untouched(), 'queued', 'R19: and what waits survives');
select dispatch.pause_workspace(dispatch_test.id(1), 'system', p_reason => 'holiday');
select is(pg_temp.asked(), 'blocked paused f', 'a pause refuses it');
select is(pg_temp.untouched(), 'queued', 'and what waits survives');
select is(
    (select c.value from dispatch.gate_counters as c where c.reason = 'paused'), 1::bigint,
    'the refusal is counted once'
);
select dispatch.resume_workspace(dispatch_test.id(1), 'system');
select dispatch.set_agent_status(dispatch_test.id(1), dispatch_test.id(4), 'stopped');
select is(pg_temp.asked(), 'blocked agent_not_runnable f', 'an agent that is stopped');
select is(pg_temp.untouched(), 'queued', 'and what waits survives');
select dispatch.bind_agent(dispatch_test.id(1), dispatch_test.id(4), null);
select is(pg_temp.asked(), 'blocked agent_runtime_required f', 'an agent without a runtime');
select dispatch.archive_agent(dispatch_test.id(1), dispatch_test.id(4));
select is(pg_temp.asked(), 'blocked target_unavailable f', 'an archived agent');
select is((select count(*) from dispatch.run), 1::bigint, 'no refusal has made a run');

select * from finish();
rollback;

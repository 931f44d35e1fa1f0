begin;
select plan(10);

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
from generate_series(1, 6) as n;

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

select dispatch.put_runtime(dispatch_test.id(1), dispatch_test.id(6), 'daemon-1');
select dispatch.heartbeat(dispatch_test.id(1), array[dispatch_test.id(6)]);
select dispatch.put_agent(
    dispatch_test.id(1), dispatch_test.id(5), 'beta', dispatch_test.id(2), dispatch_test.id(6)
);
create temp table run on commit drop as
select
    pg_temp.wake(1) as dispatched, pg_temp.wake(2) as waiting, pg_temp.wake(3) as running,
    d.run_id as single
from dispatch.queue_wake(
    dispatch_test.id(1), dispatch_test.id(4), 'mention', p_issue_id => dispatch_test.id(104),
    p_max_attempts => 1
) as d;
create temp table elsewhere on commit drop as
select d.run_id as id
from dispatch.queue_wake(
    dispatch_test.id(1), dispatch_test.id(5), 'mention', p_issue_id => dispatch_test.id(101)
) as d;
select count(*) from dispatch.claim_runs(
    dispatch_test.id(1), array[dispatch_test.id(3), dispatch_test.id(6)], 9, 9
);
select dispatch.wait_run(dispatch_test.id(1), (select r.waiting from run as r), 1, 'checkout');
select dispatch.start_run(dispatch_test.id(1), (select r.running from run as r), 1);
create temp table untouched on commit drop as
select
    pg_temp.wake(5) as queued, d.run_id as deferred
from dispatch.queue_wake(
    dispatch_test.id(1), dispatch_test.id(4), 'later', p_issue_id => dispatch_test.id(106),
    p_fire_at => dispatch.clock() + interval '1 hour'
) as d;
create temp table shot on commit drop as
select v.id, v::text as shot
from dispatch.runs as v
where v.id in (
    (select u.queued from untouched as u), (select u.deferred from untouched as u),
    (select e.id from elsewhere as e)
);
create temp table answer on commit drop as
select t.applied, t.run_id, t.status, t.claim_no, t.retry_run_id, t.reason
from dispatch.recover_runtime(dispatch_test.id(1), dispatch_test.id(3)) as t;

select set_eq(
    'select a.run_id from answer as a',
    $$
    select u.id
    from run as r
    cross join lateral unnest(array[
        r.dispatched, r.waiting, r.running, r.single
    ]) as u (id)
    $$,
    'R10: one row for each run that the runtime had in hand'
);
select is(
    (select string_agg(distinct concat(a.applied, a.status, a.reason), ' ') from answer as a),
    'tfailed',
    'R10: all of them have failed'
);
select is(
    (
        select string_agg(distinct concat_ws(' ', v.failure_reason, v.lease_expires_at), ', ')
        from dispatch.runs as v
        where v.status = 'failed'
    ),
    'runtime_recovery',
    'R10: because the daemon restarted; no lease lives on'
);
select results_eq(
    $$
    select a.run_id = r.single, a.retry_run_id is null
    from answer as a
    cross join run as r
    order by 1, 2
    $$,
    'values (false, false), (false, false), (false, false), (true, true)',
    'R10: each that has attempts left is retried'
);
select is(
    (
        select string_agg(distinct concat_ws(' ', v.status, v.attempt, v.runtime_id), ', ')
        from dispatch.runs as v
        where v.id in (select a.retry_run_id from answer as a)
    ),
    'queued 2 ' || dispatch_test.id(3),
    'R10: on the same runtime'
);
select is_empty(
    $$
    select s.id
    from shot as s
    inner join dispatch.runs as v on v.id = s.id
    where v::text <> s.shot
    $$,
    'R10: queued and deferred runs and other runtimes are left alone'
);
select is_empty(
    $$
    select t.run_id
    from dispatch.recover_runtime(dispatch_test.id(1), dispatch_test.id(3)) as t
    $$,
    'R10: a second recovery finds nothing'
);
select is(
    (
        select t.reason
        from run as r
        cross join lateral dispatch.complete_run(dispatch_test.id(1), r.running, 1) as t
    ),
    'already_terminal',
    'what the old process reports afterwards changes nothing'
);
select is_empty(
    $$
    select t.run_id
    from dispatch.recover_runtime(dispatch_test.id(1), dispatch_test.id(99)) as t
    union all
    select t.run_id
    from dispatch.recover_runtime(dispatch_test.id(7), dispatch_test.id(6)) as t
    $$,
    'an unknown or foreign runtime is no rows'
);
select is(
    concat_ws(
        ', ',
        dispatch_test.error_of('select dispatch.recover_runtime(null, dispatch_test.id(3))'),
        dispatch_test.error_of('select dispatch.recover_runtime(dispatch_test.id(1), null)'),
        dispatch_test.error_of(
            $$
            select dispatch.recover_runtime(
                dispatch_test.id(1), '00000000-0000-0000-0000-000000000000'
            )
            $$
        )
    ),
    'PD400 p_workspace_id, PD400 p_runtime_id, PD400 p_runtime_id',
    'both arguments are required'
);

select * from finish();
rollback;

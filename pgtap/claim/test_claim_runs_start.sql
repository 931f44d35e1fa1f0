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
from generate_series(1, 4) as n;

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

select pg_temp.wake(n) from generate_series(1, 4) as n;
create function pg_temp.claim(p_start boolean, p_lease interval)
returns dispatch.runs
language plpgsql
as $fn$
declare
    v_run uuid;
begin
    select c.run_id
    into v_run
    from dispatch.claim_runs(
        dispatch_test.id(1), array[dispatch_test.id(3)], 1, 1, p_start, p_lease
    ) as c;
    return (select v from dispatch.runs as v where v.id = v_run);
end;
$fn$;

select results_eq(
    $$
    select v.status::text, v.claim_no, v.dispatched_at, v.started_at, v.lease_expires_at
    from pg_temp.claim(true, null) as v
    $$,
    $$
    values (
        'running', 1, '2030-01-15 12:00:00+00'::timestamptz,
        '2030-01-15 12:00:00+00'::timestamptz, null::timestamptz
    )
    $$,
    'a daemon that prepares nothing claims runs that are running'
);
select results_eq(
    $$
    select v.status::text, v.lease_expires_at from pg_temp.claim(true, interval '24 hours') as v
    $$,
    $$values ('running', '2030-01-16 12:00:00+00'::timestamptz)$$,
    'with a lease each of them expires by itself'
);
select results_eq(
    $$
    select v.status::text, v.lease_expires_at, v.started_at
    from pg_temp.claim(false, interval '2 minutes') as v
    $$,
    $$
    values ('dispatched', '2030-01-15 12:02:00+00'::timestamptz, null::timestamptz)
    $$,
    'without the start a lease is how long the claim is protected'
);
select results_eq(
    $$select v.status::text, v.lease_expires_at from pg_temp.claim(false, null) as v$$,
    $$values ('dispatched', '2030-01-15 12:00:45+00'::timestamptz)$$,
    'which is 45 seconds by default'
);
select is(
    (
        select string_agg(distinct concat(t.applied, t.status), ' ')
        from dispatch.runs as v
        cross join lateral dispatch.complete_run(dispatch_test.id(1), v.id, v.claim_no) as t
        where v.status = 'running'
    ),
    'tcompleted',
    'what was started by its claim completes with the number of it'
);

select * from finish();
rollback;

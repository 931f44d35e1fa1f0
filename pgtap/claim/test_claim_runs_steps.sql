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
select dispatch.put_agent(
    dispatch_test.id(1), dispatch_test.id(5), 'beta', dispatch_test.id(2), dispatch_test.id(3)
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

create temp table run on commit drop as
select
    pg_temp.wake(1) as lost,
    (dispatch.queue_wake(
        dispatch_test.id(1), dispatch_test.id(5), 'later', p_issue_id => dispatch_test.id(102),
        p_fire_at => dispatch.clock() + interval '60 seconds'
    )).run_id as due;
select count(*) from dispatch.claim_run(dispatch_test.id(1), dispatch_test.id(4));
select dispatch_test.advance_clock(interval '91 seconds');
create temp table fresh on commit drop as select pg_temp.wake(3) as id;

create temp table first on commit drop as
select c.run_id, c.claim_no, c.reclaimed
from dispatch.claim_runs(dispatch_test.id(1), array[dispatch_test.id(3)], 1) as c;
select results_eq(
    'select f.run_id, f.claim_no, f.reclaimed from first as f',
    'select r.lost, 2, true from run as r',
    'C13: a claim that was lost is handed out again before anything fresh'
);
select is(
    (select count(*) from dispatch.run as r where r.status = 'dispatched'), 1::bigint,
    'C13: and counts against what was asked for'
);
select is(
    (select v.status::text from run as r inner join dispatch.run as v on v.id = r.due),
    'queued',
    'before that what is due is queued'
);
select set_eq(
    $$
    select c.run_id, c.claim_no, c.reclaimed
    from dispatch.claim_runs(dispatch_test.id(1), array[dispatch_test.id(3)], 9) as c
    $$,
    $$
    select r.due as run_id, 1 as claim_no, false as reclaimed from run as r
    union all
    select f.id, 1, false from fresh as f
    $$,
    'then the queued runs are claimed'
);
select dispatch.fail_run(dispatch_test.id(1), (select f.id from fresh as f), 1);
select dispatch_test.advance_clock(interval '91 seconds');
select dispatch.heartbeat(dispatch_test.id(1), array[dispatch_test.id(3)]);
select pg_temp.wake(4);
select results_eq(
    $$
    select v.status::text, c.reclaimed, v.lease_expires_at - dispatch.clock()
    from dispatch.claim_runs(
        dispatch_test.id(1), array[dispatch_test.id(3)], 9, 9, true, interval '1 hour'
    ) as c
    inner join lateral (
        select c.lease_expires_at,
            case when c.reclaimed then 'reclaimed' else 'fresh' end as status
    ) as v on true
    order by 1
    $$,
    $$
    values
    ('fresh', false, interval '1 hour'),
    ('reclaimed', true, interval '45 seconds'),
    ('reclaimed', true, interval '45 seconds')
    $$,
    'a claim that starts its runs leases those, and protects what it hands out again'
);
select is(
    (
        select string_agg(r.status::text, ' ' order by r.status, r.id)
        from dispatch.run as r
        where r.status <> 'failed'
    ),
    'dispatched dispatched running',
    'and what is handed out again stays dispatched'
);

select * from finish();
rollback;

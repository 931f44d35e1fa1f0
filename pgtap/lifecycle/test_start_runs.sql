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

create function pg_temp.report(p_run_id uuid, p_claim_no integer, p_extra jsonb default '{}')
returns jsonb
language sql
as $fn$
    select jsonb_build_object('run_id', p_run_id, 'claim_no', p_claim_no) || p_extra;
$fn$;

create temp table run on commit drop as
select pg_temp.wake(1) as a, pg_temp.wake(2) as b, pg_temp.wake(3) as c, pg_temp.wake(4) as d;
select count(*) from dispatch.claim_runs(dispatch_test.id(1), array[dispatch_test.id(3)], 3, 3);

create temp table answer on commit drop as
select t.ordinality as n, t.applied, t.run_id, t.status, t.claim_no, t.reason
from dispatch.start_runs(
    dispatch_test.id(1),
    (
        select jsonb_build_array(
            pg_temp.report(r.c, 1, '{"lease": "2 minutes"}'),
            pg_temp.report(dispatch_test.id(99), 1),
            pg_temp.report(r.a, 7),
            pg_temp.report(r.b, 1),
            pg_temp.report(r.d, 0),
            pg_temp.report(r.b, 1)
        )
        from run as r
    )
) with ordinality as t;

select results_eq(
    $$select a.applied, a.status::text, a.reason from answer as a order by a.n$$,
    $$
    values
    (true, 'running', null::text),
    (false, null, 'not_found'),
    (false, 'dispatched', 'superseded'),
    (true, 'running', null),
    (false, 'queued', 'wrong_state'),
    (false, 'running', 'wrong_state')
    $$,
    'each element stands alone and is answered in the order given'
);
select results_eq(
    'select a.run_id from answer as a order by a.n',
    $$
    select u.id
    from run as r
    cross join lateral unnest(array[
        r.c, dispatch_test.id(99), r.a, r.b, r.d, r.b
    ]) as u (id)
    $$,
    'each answer names its run'
);
select results_eq(
    $$
    select v.lease_expires_at
    from run as r
    inner join dispatch.runs as v on v.id in (r.b, r.c)
    order by v.id
    $$,
    $$values (null::timestamptz), ('2030-01-15 12:02:00+00'::timestamptz)$$,
    'each element has its own lease'
);
select is_empty(
    $$select t.applied from dispatch.start_runs(dispatch_test.id(1), '[]') as t$$,
    'an empty batch has no answer'
);
select results_eq(
    $$
    select t.applied, t.reason
    from run as r
    cross join lateral dispatch.start_runs(
        dispatch_test.id(1),
        jsonb_build_array(pg_temp.report(r.a, 0), pg_temp.report(r.a, 1))
    ) as t
    $$,
    $$values (false, 'superseded'), (true, null::text)$$,
    'a stale element does not spoil a good one about the same run'
);

select * from finish();
rollback;

begin;
select plan(8);

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

create temp table run on commit drop as
select d.run_id as id
from dispatch.queue_wake(
    dispatch_test.id(1), dispatch_test.id(4), 'mention', '{"a": 1}', 'k', dispatch_test.id(101),
    p_priority => 2, p_actor_type => 'user', p_actor_id => dispatch_test.id(2)
) as d;
select dispatch_test.advance_clock(interval '7 seconds');
create temp table taken on commit drop as
select
    c.run_id, c.workspace_id, c.agent_id, c.runtime_id, c.issue_id, c.chat_session_id,
    c.autopilot_run_id, c.claim_no, c.attempt, c.priority, c.reason, c.payload, c.triggers,
    c.requested_at, c.dispatched_at, c.lease_expires_at, c.originator_id, c.accountable_id,
    c.attribution_source, c.is_leader_run, c.squad_id, c.handoff_note, c.session_id, c.work_dir,
    c.reclaimed
from dispatch.claim_run(dispatch_test.id(1), dispatch_test.id(4)) as c;

select results_eq(
    $$
    select t.run_id, t.workspace_id, t.agent_id, t.runtime_id, t.issue_id, t.chat_session_id
    from taken as t
    $$,
    $$
    select
        r.id, dispatch_test.id(1), dispatch_test.id(4), dispatch_test.id(3),
        dispatch_test.id(101), null::uuid
    from run as r
    $$,
    'a claim returns the run and what it is about'
);
select results_eq(
    $$
    select t.claim_no, t.attempt, t.priority, t.reason, t.payload, t.reclaimed
    from taken as t
    $$,
    $$values (1, 1, 2, 'mention', '{"a": 1}'::jsonb, false)$$,
    'with its number and what was asked'
);
select results_eq(
    'select t.requested_at, t.dispatched_at, t.lease_expires_at from taken as t',
    $$
    values (
        '2030-01-15 12:00:00+00'::timestamptz, '2030-01-15 12:00:07+00'::timestamptz,
        '2030-01-15 12:00:52+00'::timestamptz
    )
    $$,
    'C10: claim sets dispatched_at and a lease of 45 seconds'
);
select results_eq(
    $$
    select v.status::text, v.claim_no, v.dispatched_at, v.lease_expires_at, v.started_at
    from dispatch.runs as v
    $$,
    $$
    select 'dispatched', t.claim_no, t.dispatched_at, t.lease_expires_at, null::timestamptz
    from taken as t
    $$,
    'C10: the row says the same, and was not started'
);
select results_eq(
    'select t.originator_id, t.accountable_id, t.attribution_source from taken as t',
    $$values (dispatch_test.id(2), dispatch_test.id(2), 'direct_human')$$,
    'whose authority it uses is told'
);
select results_eq(
    $$
    select t.is_leader_run, t.squad_id, t.handoff_note, t.session_id, t.work_dir
    from taken as t
    $$,
    'values (false, null::uuid, null::text, null::text, null::text)',
    'and that it is nothing special'
);
select is_empty(
    'select c.run_id from dispatch.claim_run(dispatch_test.id(1), dispatch_test.id(4)) as c',
    'the next claim finds nothing'
);
select is(
    (select v.claim_no from dispatch.runs as v), 1, 'and moves no claim number'
);

select * from finish();
rollback;

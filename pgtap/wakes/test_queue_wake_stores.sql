begin;
select plan(7);

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

create temp table answer on commit drop as
select d.outcome, d.reason_code, d.run_id, d.agent_id, d.source, d.detail
from dispatch.queue_wake(
    dispatch_test.id(1), dispatch_test.id(4), 'mention', '{"a": [1, null]}', 'key-1',
    dispatch_test.id(101), p_priority => -7, p_max_attempts => 5
) as d;

select results_eq(
    'select a.outcome::text, a.reason_code::text, a.agent_id, a.source from answer as a',
    $$values ('queued', 'queued', dispatch_test.id(4), 'wake')$$,
    'an admitted wake is queued and names the agent and its source'
);
select results_eq(
    $$
    select r.id, r.agent_id, r.runtime_id, r.issue_id, r.lane, r.status::text
    from dispatch.runs as r
    $$,
    $$
    select
        a.run_id, dispatch_test.id(4), dispatch_test.id(3), dispatch_test.id(101),
        dispatch_test.id(101), 'queued'
    from answer as a
    $$,
    'the run is queued on the runtime of the agent, in the lane of its issue'
);
select results_eq(
    $$
    select r.reason, r.payload, r.idempotency_key, r.priority, r.max_attempts, r.source
    from dispatch.runs as r
    $$,
    $$values ('mention', '{"a": [1, null]}'::jsonb, 'key-1', -7, 5, 'wake')$$,
    'what was asked is stored as given'
);
select results_eq(
    $$
    select r.claim_no, r.attempt, r.coalesced_count, r.requested_at, r.dispatched_at is null
    from dispatch.runs as r
    $$,
    $$values (0, 1, 1, '2030-01-15 12:00:00+00'::timestamptz, true)$$,
    'it was never claimed, is a first attempt and stands for one wake'
);
select results_eq(
    $$
    select r.actor_type, r.actor_id, r.is_leader_run, r.force_fresh, r.parent_run_id
    from dispatch.runs as r
    $$,
    $$values ('system', null::uuid, false, false, null::uuid)$$,
    'the system is the actor when nobody else is named'
);
select is(
    (select count(*) from dispatch.run_trigger),
    0::bigint,
    'no trigger is written for the only wake of a run'
);

select dispatch.queue_wake(dispatch_test.id(1), dispatch_test.id(4), 'tick');
select results_eq(
    $$
    select r.payload, r.idempotency_key, r.priority, r.max_attempts, r.issue_id
    from dispatch.runs as r
    where r.reason = 'tick'
    $$,
    $$values ('{}'::jsonb, null::text, 0, 2, null::uuid)$$,
    'the defaults are an empty payload, no key, priority 0 and two attempts'
);

select * from finish();
rollback;

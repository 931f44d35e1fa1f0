begin;
select plan(9);

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
    p_priority => 2, p_actor_type => 'user', p_actor_id => dispatch_test.id(2),
    p_max_attempts => 3
) as d;
update dispatch.run_detail as d
set
    comment_id = dispatch_test.id(70), is_leader_run = true, squad_id = dispatch_test.id(71),
    handoff_note = 'note', rerun_of_run_id = dispatch_test.id(72),
    escalation_for_run_id = dispatch_test.id(73), evidence_kind = 'comment',
    evidence_id = dispatch_test.id(70), delegated_from_run_id = dispatch_test.id(74);
select count(*) from dispatch.claim_run(dispatch_test.id(1), dispatch_test.id(4));

select dispatch.start_run(dispatch_test.id(1), (select r.id from run as r), 1);
select dispatch_test.advance_clock(interval '1 minute');
create temp table child on commit drop as
select t.retry_run_id as id
from dispatch.fail_run(
    dispatch_test.id(1), (select r.id from run as r), 1, 'timeout', 'late', 's', '/w'
) as t;
create function pg_temp.child()
returns dispatch.runs
language sql
as $fn$
    select v from dispatch.runs as v where v.id = (select c.id from child as c);
$fn$;

select results_eq(
    $$
    select c.status::text, c.attempt, c.max_attempts, c.parent_run_id, c.source, c.claim_no
    from pg_temp.child() as c
    $$,
    $$select 'queued', 2, 3, r.id, 'retry', 0 from run as r$$,
    'R15: the child is a new run that knows its parent and its attempt'
);
select results_eq(
    $$
    select c.agent_id, c.runtime_id, c.issue_id, c.reason, c.payload, c.priority, c.comment_id
    from pg_temp.child() as c
    $$,
    $$
    values (
        dispatch_test.id(4), dispatch_test.id(3), dispatch_test.id(101), 'mention',
        '{"a": 1}'::jsonb, 2, dispatch_test.id(70)
    )
    $$,
    'R15: it copies what is to be done'
);
select results_eq(
    $$
    select
        c.actor_type, c.actor_id, c.originator_id, c.accountable_id, c.attribution_source,
        c.evidence_kind, c.evidence_id, c.delegated_from_run_id
    from pg_temp.child() as c
    $$,
    $$
    values (
        'user', dispatch_test.id(2), dispatch_test.id(2), dispatch_test.id(2), 'direct_human',
        'comment', dispatch_test.id(70), dispatch_test.id(74)
    )
    $$,
    'R15: and on whose authority, unchanged'
);
select results_eq(
    $$
    select c.session_id, c.work_dir, c.force_fresh, c.is_leader_run, c.squad_id
    from pg_temp.child() as c
    $$,
    $$values ('s', '/w', false, true, dispatch_test.id(71))$$,
    'R15: it resumes where the parent stopped, in the same role'
);
select results_eq(
    $$
    select
        c.handoff_note, c.rerun_of_run_id, c.escalation_for_run_id, c.idempotency_key, c.error,
        c.failure_reason, c.coalesced_count
    from pg_temp.child() as c
    $$,
    $$
    values (
        null::text, null::uuid, null::uuid, null::text, null::text, null::text, 1
    )
    $$,
    'R15: note, key, rerun and escalation are not carried over'
);
select is(
    (select c.requested_at from pg_temp.child() as c), '2030-01-15 12:01:00+00'::timestamptz,
    'it waits since the failure'
);
select is(
    (
        select t.retry_run_id
        from dispatch.fail_run(
            dispatch_test.id(1), (select r.id from run as r), 1, 'timeout', 'late', 's', '/w'
        ) as t
    ),
    (select c.id from child as c),
    'R07: the report repeated names the same child'
);
select is(
    (select count(*) from dispatch.runs as v where v.parent_run_id is not null), 1::bigint,
    'R15: one failed attempt has one child'
);
select results_eq(
    $$
    select c.run_id, c.attempt, jsonb_array_length(c.triggers), c.triggers -> 0 -> 'payload'
    from dispatch.claim_run(dispatch_test.id(1), dispatch_test.id(4)) as c
    $$,
    $$select c.id, 2, 1, '{"a": 1}'::jsonb from child as c$$,
    'it delivers the wake of its parent'
);

select * from finish();
rollback;

begin;
select plan(9);

select dispatch_test.set_clock('2030-01-15 12:00:00+00');
select dispatch.put_workspace(dispatch_test.id(1), 'Works');
select dispatch.put_member(dispatch_test.id(1), dispatch_test.id(2), 'Ana');
select dispatch.put_runtime(dispatch_test.id(1), dispatch_test.id(3), 'daemon-1');
select dispatch.heartbeat(dispatch_test.id(1), array[dispatch_test.id(3)]);
select dispatch.put_agent(
    dispatch_test.id(1), dispatch_test.id(10 + n), 'agent ' || n, dispatch_test.id(2),
    dispatch_test.id(3)
)
from generate_series(1, 12) as n;
insert into dispatch.issue (
    workspace_id, id, number, title, status, priority, creator_type, created_at, updated_at
)
select
    dispatch_test.id(1), dispatch_test.id(100 + n), n, 'issue', 'todo', 'none', 'system',
    dispatch.clock(), dispatch.clock()
from generate_series(1, 3) as n;

create function pg_temp.assign(p_agent integer) returns text
language sql
as $fn$
    select u.outcome || ' ' || u.assignment_generation
    from dispatch.update_issue(
        dispatch_test.id(1), dispatch_test.id(101),
        jsonb_build_object(
            'assignee', jsonb_build_object(
                'type', 'agent', 'id', dispatch_test.id(10 + p_agent)
            )
        ),
        'user', dispatch_test.id(2)
    ) as u;
$fn$;
create function pg_temp.work(p_agent integer) returns void
language sql
as $fn$
    select dispatch.start_run(dispatch_test.id(1), c.run_id, c.claim_no)
    from dispatch.claim_run(dispatch_test.id(1), dispatch_test.id(10 + p_agent)) as c;
$fn$;

select is(
    pg_temp.assign(1) || ', ' || pg_temp.assign(2) || ', ' || pg_temp.assign(1),
    'queued 1, queued 2, coalesced 3',
    'T69: A, B and A again within seconds'
);
select is(
    (
        select count(*)
        from dispatch.run_trigger as t
        where t.idempotency_key like 'task_assigned:%:3'
    ),
    1::bigint,
    'T69: the third one is on A''s run'
);
select is(
    pg_temp.assign(1), 'coalesced 4', 'the same assignee once more is a wake once more'
);
select dispatch_test.advance_clock(interval '5 seconds');
select is(pg_temp.assign(1), 'absorbed 5', 'T69: later it is absorbed by the run that waits');
select pg_temp.work(1);
select is(
    pg_temp.assign(1), 'queued 6', 'T69: and beside a running one it is a run of its own'
);
select pg_temp.work(2);
select is(
    pg_temp.assign(2) || ', ' || pg_temp.assign(1), 'queued 7, coalesced 8',
    'T69: no assignment is ever a duplicate'
);
select is_empty('select from dispatch.gate_event as e', 'and none is refused');

-- Generation 7 was merged nowhere and stands on a run; delivered again, it is a duplicate.
select is(
    (
        select d.outcome || ' ' || d.reason_code
        from dispatch.queue_wake(
            dispatch_test.id(1), dispatch_test.id(12), 'task_assigned', '{}',
            format('task_assigned:%s:%s:7', dispatch_test.id(101), dispatch_test.id(12))
        ) as d
    ),
    'deduplicated duplicate_recent',
    'an assignment delivered twice is'
);

-- A wake of the system, into which Ana's assignment merges.
select dispatch.queue_wake(
    dispatch_test.id(1), dispatch_test.id(13), 'task_assigned',
    jsonb_build_object('task_id', dispatch_test.id(101))
);
select pg_temp.assign(3);
select results_eq(
    $$
    select r.coalesced_count, r.evidence_kind, r.evidence_id, r.attribution_source,
        r.originator_id, r.actor_type
    from dispatch.runs as r
    where r.agent_id = dispatch_test.id(13)
    $$,
    $$
    values (
        2, 'issue_assignment', dispatch_test.id(101), 'direct_human', dispatch_test.id(2),
        'system'
    )
    $$,
    'a merge gives the run the newer evidence and attribution, not the actor'
);

select * from finish();
rollback;

begin;
select plan(11);

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
from generate_series(1, 12) as n;

create function pg_temp.counters() returns text
language sql
as $fn$
    select string_agg(c.reason || '=' || c.value, ' ' order by c.reason)
    from dispatch.gate_counters as c
    where c.value > 0;
$fn$;

create function pg_temp.assign(
    p_issue integer,
    p_agent integer,
    p_type text default 'user',
    p_actor integer default 2
)
returns text
language sql
as $fn$
    select u.outcome || ' ' || u.reason_code
    from dispatch.update_issue(
        dispatch_test.id(1), dispatch_test.id(100 + p_issue),
        jsonb_build_object(
            'assignee', case
                when p_agent is not null
                    then jsonb_build_object(
                        'type', 'agent', 'id', dispatch_test.id(10 + p_agent)
                    )
            end
        ),
        p_type, dispatch_test.id(p_actor), p_handoff_note => 'Mind the gap.'
    ) as u;
$fn$;

create function pg_temp.resolved(p_issue integer) returns text
language sql
as $fn$
    select concat_ws(' ', coalesce(o.resolution, 'open'), o.resolved_at is not null)
    from dispatch.deferred_assignment as o
    where o.issue_id = dispatch_test.id(100 + p_issue);
$fn$;
select dispatch.put_squad(
    dispatch_test.id(1), dispatch_test.id(60), 'squad', dispatch_test.id(12)
);
select dispatch.pause_workspace(dispatch_test.id(1), 'system', p_reason => 'halt');
select pg_temp.assign(n, 1) from generate_series(1, 12) as n;
select dispatch_test.advance_clock(interval '1 minute');
-- What may have become of an issue in the meantime.
select dispatch.delete_issue(dispatch_test.id(1), dispatch_test.id(102), 'system');
select pg_temp.assign(3, null);
update dispatch.issue as i
set assignee_id = dispatch_test.id(12)
where i.id = dispatch_test.id(104);
update dispatch.issue as i
set assignment_generation = i.assignment_generation + 1
where i.id = dispatch_test.id(105);
select pg_temp.assign(6, 3);
select pg_temp.assign(7, 4);
select dispatch.set_agent_status(dispatch_test.id(1), dispatch_test.id(14), 'stopped');
select pg_temp.assign(8, 5);
select dispatch.archive_agent(dispatch_test.id(1), dispatch_test.id(15));
select dispatch.update_issue(
    dispatch_test.id(1), dispatch_test.id(109), '{"status": "done"}', 'system'
);
select dispatch.update_issue(
    dispatch_test.id(1), dispatch_test.id(110),
    jsonb_build_object(
        'assignee', jsonb_build_object('type', 'squad', 'id', dispatch_test.id(60))
    ),
    'user', dispatch_test.id(2)
);

select is(
    dispatch.resume_workspace(dispatch_test.id(1), 'user', dispatch_test.id(2)), true,
    'the workspace is resumed'
);
select results_eq(
    $$
    select
        r.agent_id, r.source, r.reason, r.payload, r.idempotency_key, r.actor_type, r.actor_id,
        r.originator_id, r.handoff_note, r.status::text, r.requested_at
    from dispatch.runs as r
    where r.issue_id = dispatch_test.id(101)
    $$,
    $$
    select
        dispatch_test.id(11), 'assign', 'task_assigned',
        jsonb_build_object(
            'task_id', dispatch_test.id(101), 'actor_type', 'user',
            'actor_id', dispatch_test.id(2)
        ),
        format('task_assigned:%s:%s:1', dispatch_test.id(101), dispatch_test.id(11)),
        'user', dispatch_test.id(2), dispatch_test.id(2), 'Mind the gap.', 'queued',
        dispatch.clock()
    $$,
    '7.4: a replayed assignment is the run that it would have been'
);
select is(pg_temp.resolved(1), 'replayed t', '7.4: and its record says so');
select is(
    (
        select string_agg(
            right(t.issue::text, 1) || ' ' || coalesce(pg_temp.resolved(t.issue), '-')
            || ' ' || (
                select count(*)
                from dispatch.run as r
                where r.issue_id = dispatch_test.id(100 + t.issue)
            ),
            ', ' order by t.issue
        )
        from generate_series(2, 8) as t (issue)
    ),
    '2 - 0, 3 dropped t 0, 4 dropped t 0, 5 dropped t 0, 6 replayed t 1, 7 dropped t 0, '
    '8 dropped t 0',
    'T110: gone, unassigned, assigned to another, assigned anew: dropped; '
    'an agent that is not active or archived: dropped'
);
select is(
    (
        select string_agg(right(r.agent_id::text, 2), ' ')
        from dispatch.run as r
        where r.issue_id = dispatch_test.id(106)
    ),
    '13',
    'T110: of two assignments of an issue the last one is replayed'
);
select is(pg_temp.resolved(9), 'replayed t', '7.4: the status of the issue does not matter');
select results_eq(
    $$
    select r.agent_id, r.squad_id, r.is_leader_run
    from dispatch.runs as r
    where r.issue_id = dispatch_test.id(110)
    $$,
    $$select dispatch_test.id(12), dispatch_test.id(60), true$$,
    'a squad''s assignment wakes its leader'
);
select is(
    (
        select array_agg(r.issue_id order by r.id)
        from dispatch.run as r
        where r.agent_id = dispatch_test.id(11)
    ),
    array[
        dispatch_test.id(101), dispatch_test.id(109), dispatch_test.id(111),
        dispatch_test.id(112)
    ],
    '7.4: assignments of one instant are replayed in the order of their issues'
);
select is(
    (select count(*) from dispatch.deferred_assignment as o where o.resolved_at is null),
    0::bigint,
    'nothing waits on'
);
select is(
    pg_temp.counters(), 'agent_not_runnable=1 paused=16 target_unavailable=1',
    'a replay that is refused is counted'
);
select is(
    dispatch._replay_assignments(dispatch_test.id(1), null), 0, 'a second replay finds nothing'
);

select * from finish();
rollback;

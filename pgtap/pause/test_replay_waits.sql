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

-- The payload of an assignment, made by an actor of a type.
create function pg_temp.by(p_issue integer, p_type text default 'agent') returns jsonb
language sql
as $fn$
    select jsonb_strip_nulls(jsonb_build_object(
        'task_id', dispatch_test.id(100 + p_issue), 'actor_type', p_type,
        'actor_id', dispatch_test.id(99)
    ));
$fn$;

create function pg_temp.wake(
    p_agent integer,
    p_issue integer,
    p_payload jsonb,
    p_key text default null,
    p_reason text default 'task_assigned'
)
returns text
language sql
as $fn$
    select d.outcome || ' ' || d.reason_code
    from dispatch.queue_wake(
        dispatch_test.id(1), dispatch_test.id(10 + p_agent), p_reason, p_payload, p_key,
        dispatch_test.id(100 + p_issue)
    ) as d;
$fn$;

create function pg_temp.counters() returns text
language sql
as $fn$
    select string_agg(c.reason || '=' || c.value, ' ' order by c.reason)
    from dispatch.gate_counters as c
    where c.value > 0;
$fn$;

create function pg_temp.open() returns text
language sql
as $fn$
    select string_agg(right(o.issue_id::text, 3), ' ' order by o.issue_id)
    from dispatch.deferred_assignment as o
    where o.resolved_at is null;
$fn$;
-- Agent 1 works for Ana, and assigns from its run.
select dispatch.queue_wake(
    dispatch_test.id(1), dispatch_test.id(11), 'work', p_actor_type => 'user',
    p_actor_id => dispatch_test.id(2)
);
select dispatch.start_run(dispatch_test.id(1), c.run_id, 1)
from dispatch.claim_run(dispatch_test.id(1), dispatch_test.id(11)) as c;
select pg_temp.wake(n, 1, pg_temp.by(1)) from generate_series(3, 7) as n;
select dispatch_test.advance_clock(interval '1 minute');
select dispatch.pause_workspace(dispatch_test.id(1), 'system', p_reason => 'halt');
select dispatch.update_issues(
    dispatch_test.id(1), array[dispatch_test.id(101), dispatch_test.id(102)],
    jsonb_build_object(
        'assignee', jsonb_build_object('type', 'agent', 'id', dispatch_test.id(12))
    ),
    'agent', dispatch_test.id(11),
    (select r.id from dispatch.run as r where r.agent_id = dispatch_test.id(11))
);
select is(pg_temp.open(), '101 102', 'two assignments by an agent wait');
select dispatch.resume_workspace(dispatch_test.id(1), 'system');
select is(
    pg_temp.open(), '101', '7.4: the one that the allowance refuses at the replay waits on'
);
select results_eq(
    $$
    select r.payload ->> 'actor_type', r.actor_type, r.originator_id, r.delegated_from_run_id
    from dispatch.runs as r
    where r.issue_id = dispatch_test.id(102)
    $$,
    $$
    select 'agent', 'agent', dispatch_test.id(2), r.id
    from dispatch.run as r
    where r.agent_id = dispatch_test.id(11)
    $$,
    '3.8: the other one is the agent''s, for whom it worked'
);
select is(
    pg_temp.counters(), 'allowance_exhausted=1 paused=2', 'the refusal is counted'
);
select dispatch.pause_workspace(dispatch_test.id(1), 'system', p_reason => 'again');
select is(
    dispatch._replay_assignments(dispatch_test.id(1), null), 0,
    '7.4: one that a pause refuses waits on'
);
select dispatch_test.advance_clock(dispatch.allowance_window());
select is(
    dispatch.resume_workspace(dispatch_test.id(1), 'system'), true, 'after the window'
);
select is(pg_temp.open(), null, 'it is replayed');
select is(
    (
        select count(*) from dispatch.run as r where r.agent_id = dispatch_test.id(12)
    ),
    2::bigint,
    'into exactly one run an issue'
);

-- A record that is resolved by a run that stands already.
select dispatch.pause_workspace(dispatch_test.id(1), 'system', p_reason => 'third');
select dispatch.update_issue(
    dispatch_test.id(1), dispatch_test.id(103),
    jsonb_build_object(
        'assignee', jsonb_build_object('type', 'agent', 'id', dispatch_test.id(13))
    ),
    'user', dispatch_test.id(2)
);
update dispatch.workspace_pause as p
set released_at = dispatch.clock()
where p.reason = 'third';
select pg_temp.wake(3, 3, '{}', null, 'mention');
update dispatch.workspace_pause as p
set released_at = null
where p.reason = 'third';
select dispatch.resume_workspace(dispatch_test.id(1), 'system');
select is(
    (
        select format('%s %s', o.resolution, (
            select count(*) from dispatch.run as r where r.issue_id = o.issue_id
        ))
        from dispatch.deferred_assignment as o
        where o.issue_id = dispatch_test.id(103)
    ),
    'replayed 1',
    'an assignment that a waiting run absorbs is replayed'
);

select * from finish();
rollback;

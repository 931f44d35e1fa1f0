begin;
select plan(18);

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

create temp table seen (reason text primary key, value bigint not null) on commit drop;
insert into seen (reason, value)
select c.reason, c.value from dispatch.gate_counters as c;
-- The counters that moved since the last look.
create function pg_temp.moved() returns text
language plpgsql
as $fn$
declare
    v_moved text;
begin
    select string_agg(
        c.metric || '.' || c.reason || case when c.value <> s.value + 1 then '!' else '' end,
        ' '
    )
    into v_moved
    from dispatch.gate_counters as c
    inner join pg_temp.seen as s on s.reason = c.reason
    where c.value <> s.value;
    update pg_temp.seen as s
    set value = c.value
    from dispatch.gate_counters as c
    where c.reason = s.reason;
    return coalesce(v_moved, 'none');
end;
$fn$;
create function pg_temp.try(
    p_agent integer,
    p_issue integer,
    p_payload jsonb default '{}',
    p_key text default null,
    p_reason text default 'task_assigned'
)
returns text
language plpgsql
as $fn$
begin
    return pg_temp.wake(p_agent, p_issue, p_payload, p_key, p_reason) || ', '
        || pg_temp.moved();
end;
$fn$;

select is(
    (select format('%s %s', count(*), sum(c.value)) from dispatch.gate_counters as c), '18 0',
    'before anything happened every counter has a row, at 0'
);
select is(pg_temp.try(1, 1, p_key => 'k'), 'queued queued, none', 'a queued wake');
select is(
    pg_temp.try(1, 1), 'coalesced coalesced, coalesce.coalesced', 'a merged one'
);
select is(
    pg_temp.try(1, 1, p_reason => 'other'),
    'absorbed already_active, pending_slot.already_active',
    'an absorbed one'
);
select is(
    pg_temp.try(2, 1, p_key => 'k'),
    'deduplicated duplicate_recent, run_dedup.duplicate_recent',
    'a recent duplicate'
);
update dispatch.run_detail as d
set requested_at = dispatch.clock() - interval '2 days'
where d.idempotency_key = 'k';
select is(
    pg_temp.try(2, 1, p_key => 'k'), 'deduplicated duplicate_key, run_dedup.duplicate_key',
    'an old one'
);
select count(*) from dispatch.claim_run(dispatch_test.id(1), dispatch_test.id(11));
select is(
    (
        select concat_ws(', ', t.retry_run_id is not null, pg_temp.moved())
        from dispatch.run as r
        cross join lateral dispatch.fail_run(dispatch_test.id(1), r.id, 1, 'timeout') as t
        where r.agent_id = dispatch_test.id(11)
    ),
    't, none',
    'wakes that a retry inherits are not counted again'
);
select pg_temp.wake(n, 2, pg_temp.by(2)) from generate_series(1, 5) as n;
select is(
    pg_temp.try(6, 2, pg_temp.by(2)),
    'rate_limited allowance_exhausted, assignment_rate_limit.allowance_exhausted',
    'one over the allowance'
);
select is(
    pg_temp.try(7, 3, '{"actor_type": "agent"}'),
    'queued queued, assignment_rate_limit.task_unattributed',
    'one that names no issue'
);
select is(
    (
        select d.outcome || ', ' || pg_temp.moved()
        from dispatch.queue_wake(
            dispatch_test.id(1), dispatch_test.id(11), 'x',
            p_fire_at => '2030-01-16 12:00:00+00'
        ) as d
    ),
    'deferred, none',
    'a deferred one'
);
select is(
    pg_temp.try(89, 1), 'blocked invocation_not_allowed, refused.invocation_not_allowed',
    'one for an unknown agent'
);
select dispatch.set_agent_status(dispatch_test.id(1), dispatch_test.id(18), 'stopped');
select is(
    pg_temp.try(8, 1), 'blocked agent_not_runnable, refused.agent_not_runnable',
    'one for an agent that is not active'
);
select dispatch.archive_agent(dispatch_test.id(1), dispatch_test.id(18));
select is(
    pg_temp.try(8, 1), 'blocked target_unavailable, refused.target_unavailable',
    'one for an archived agent'
);
select dispatch.bind_agent(dispatch_test.id(1), dispatch_test.id(19), null);
select is(
    pg_temp.try(9, 1), 'blocked agent_runtime_required, refused.agent_runtime_required',
    'one for an unbound agent'
);
select dispatch.pause_workspace(dispatch_test.id(1), 'system', p_reason => 'halt');
select is(pg_temp.try(10, 1), 'blocked paused, pause.paused', 'one during a pause');
select dispatch.resume_workspace(dispatch_test.id(1), 'system');
select dispatch.put_workspace(
    dispatch_test.id(1), 'Works', p_attribution_policy => 'fail_closed'
);
select is(
    pg_temp.try(10, 1), 'blocked attribution_blocked, refused.attribution_blocked',
    'one for which nobody answers'
);
select dispatch.set_runtime_offline(
    dispatch_test.id(1), dispatch_test.id(3), 'not_executable'
);
select is(
    pg_temp.try(10, 1), 'blocked runtime_unusable, refused.runtime_unusable',
    'one for a runtime that cannot execute'
);

select dispatch.put_workspace(dispatch_test.id(7), 'Elsewhere');
insert into dispatch.gate_total (workspace_id, metric, reason, value)
values
    (dispatch_test.id(1), 'pause', 'paused', 40), (dispatch_test.id(7), 'pause', 'paused', 2);
select is(
    (select c.value from dispatch.gate_counters as c where c.reason = 'paused'), 43::bigint,
    'what was pruned is added, over all workspaces'
);

select * from finish();
rollback;

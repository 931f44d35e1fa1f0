create or replace function dispatch._run_row(
    p_workspace_id uuid,
    p_run_id uuid,
    p_wake dispatch.wake,
    p_now timestamptz
)
returns dispatch.run
language sql
immutable
parallel safe
as $fn$
select row(
    p_workspace_id, p_run_id, (p_wake).agent_id, (p_wake).runtime_id, (p_wake).issue_id,
    coalesce(
        (p_wake).issue_id, (p_wake).chat_session_id,
        case when (p_wake).autopilot_run_id is null then (p_wake).agent_id else p_run_id end
    ),
    case
        when (p_wake).fire_at is null then 'queued'::dispatch.run_status else 'deferred'
    end,
    (p_wake).priority, 0, (p_wake).attempt, (p_wake).max_attempts, p_now, (p_wake).fire_at,
    null, null, null, null
)::dispatch.run;
$fn$;

comment on function dispatch._run_row(uuid, uuid, dispatch.wake, timestamptz) is
$doc$Make the run that a wake becomes at p_now.

Errors: none.$doc$;

create or replace function dispatch._may_coalesce(
    p_workspace_id uuid,
    p_run_id uuid,
    p_wake dispatch.wake,
    p_at timestamptz
)
returns boolean
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_queued constant dispatch.run_status := 'queued'::dispatch.run_status;
begin
    if p_wake.comment_id is not null
        and p_wake.source in ('comment', 'mention')
        and not coalesce('coalesce' = any(p_wake.skip), false)
    then
        return exists (
            select
            from dispatch.run as r
            where r.workspace_id = p_workspace_id
                and r.id = p_run_id
                and r.agent_id = p_wake.agent_id
                and r.issue_id = p_wake.issue_id
                and r.status = v_queued
        );
    elsif not p_wake.coalesce
        or 'coalesce' = any(p_wake.skip)
        or num_nonnulls(p_wake.chat_session_id, p_wake.autopilot_run_id) > 0
        or num_nonnulls(p_wake.parent_run_id, p_wake.rerun_of_run_id) > 0
        or starts_with(p_wake.idempotency_key, 'task_comment:')
    then
        return false;
    end if;
    return exists (
        select
        from dispatch.run as r
        inner join dispatch.run_detail as d
            on d.workspace_id = r.workspace_id and d.run_id = r.id
        where r.workspace_id = p_workspace_id
            and d.workspace_id = p_workspace_id
            and r.id = p_run_id
            and r.agent_id = p_wake.agent_id
            and r.issue_id = p_wake.issue_id
            and r.status = 'queued'
            and r.requested_at > p_at - dispatch.coalesce_window()
            and d.reason = p_wake.reason
            and dispatch._task_bucket(d.payload) = dispatch._task_bucket(p_wake.payload)
            and num_nonnulls(d.chat_session_id, d.autopilot_run_id) = 0
            and num_nonnulls(d.parent_run_id, d.rerun_of_run_id) = 0
            and not coalesce(starts_with(d.idempotency_key, 'task_comment:'), false)
    );
end;
$fn$;

comment on function dispatch._may_coalesce(uuid, uuid, dispatch.wake, timestamptz) is
$doc$Gate 5: tell whether a wake merges into the pair's queued run at p_at.

Agent, reason, issue and task bucket must be equal and the run younger than coalesce_window()
since its first request. Chat, autopilot, retry and rerun wakes and keys of comments merge with
nothing. A comment merges into any queued run of its pair, whatever its reason and age. The
caller holds the run row. Rule: assignment-wake-rate-limit, Where the gate sits; dispatch 3.4.
Errors: none of its own; one of the read reaches the caller and nothing is written.$doc$;

-- Runs in the transaction of the failure. A retry never takes the pending slot from another
-- run: it hands that run what the failed one stood for.
create or replace function dispatch._queue_retry(
    p_workspace_id uuid,
    p_run_id uuid,
    p_now timestamptz
)
returns boolean
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_wake dispatch.wake;
    v_decision dispatch.decision;
begin
    select
        r.agent_id, d.reason, 'retry', d.payload, null::text, r.issue_id, d.chat_session_id,
        null::uuid, d.comment_id,
        case
            when d.chat_session_id is not null then greatest(r.priority, 3) else r.priority
        end,
        p_now + dispatch._retry_delay(d.failure_reason, r.attempt), false,
        dispatch._retry_ceiling(d.failure_reason, r.max_attempts), r.attempt + 1, r.runtime_id,
        d.actor_type, d.actor_id, null::uuid, d.originator_id, d.accountable_id,
        d.attribution_source, d.evidence_kind, d.evidence_id, d.delegated_from_run_id, r.id,
        null::uuid, null::uuid, d.squad_id, d.is_leader_run, null::text,
        case when d.failure_reason <> 'codex_semantic_inactivity' then d.session_id end,
        case when d.failure_reason <> 'codex_semantic_inactivity' then d.work_dir end,
        d.failure_reason = 'codex_semantic_inactivity',
        array['agent', 'attribution', 'pause', 'duplicate', 'coalesce', 'allowance', 'record']
    into v_wake
    from dispatch.run as r
    inner join dispatch.run_detail as d
        on d.workspace_id = r.workspace_id and d.run_id = r.id
    where r.workspace_id = p_workspace_id
        and d.workspace_id = p_workspace_id
        and r.id = p_run_id
        and dispatch._is_retryable(d.failure_reason)
        and r.attempt < dispatch._retry_ceiling(d.failure_reason, r.max_attempts)
        and d.autopilot_run_id is null
        and (r.issue_id is not null or d.chat_session_id is not null);
    if not found then
        return false;
    end if;
    select d.outcome, d.reason_code, d.run_id, d.agent_id, d.source, d.detail
    into v_decision
    from dispatch._admit_wakes(p_workspace_id, array[v_wake]) as d;
    if v_decision.outcome = 'absorbed' then
        perform dispatch._record_first_wake(p_workspace_id, v_decision.run_id);
        perform dispatch._record_first_wake(p_workspace_id, p_run_id);
    end if;
    perform dispatch._hand_over(p_workspace_id, p_run_id, v_decision.run_id, false);
    return true;
end;
$fn$;

comment on function dispatch._queue_retry(uuid, uuid, timestamptz) is
$doc$Queue the automatic retry of a run that has just failed; false when it gets none.

A retryable reason, attempts left, and an issue or a chat session are needed. The retry of a
lost runtime, and the later ones of a network fault, are deferred. The child copies the run's
work, attribution and, unless the agent had gone silent, its session and work directory. When
another run holds the pending slot, that run gets the wakes and no child is made. Rule:
issue-to-run 4.
Errors: as _admit_wakes.$doc$;

create or replace function dispatch._detail_row(
    p_workspace_id uuid,
    p_run_id uuid,
    p_wake dispatch.wake,
    p_now timestamptz
)
returns dispatch.run_detail
language sql
immutable
parallel safe
as $fn$
select row(
    p_workspace_id, p_run_id, (p_wake).issue_id, p_now, (p_wake).reason, (p_wake).source,
    (p_wake).payload, (p_wake).idempotency_key, 1, (p_wake).chat_session_id,
    (p_wake).autopilot_run_id, (p_wake).comment_id, (p_wake).parent_run_id,
    (p_wake).rerun_of_run_id, (p_wake).escalation_for_run_id, (p_wake).delegated_from_run_id,
    null, (p_wake).actor_type, (p_wake).actor_id, (p_wake).originator_id,
    (p_wake).accountable_id, (p_wake).attribution_source, (p_wake).evidence_kind,
    (p_wake).evidence_id, (p_wake).squad_id, (p_wake).is_leader_run, (p_wake).handoff_note,
    (p_wake).session_id, (p_wake).work_dir, (p_wake).force_fresh, null, null, null, null
)::dispatch.run_detail;
$fn$;

comment on function dispatch._detail_row(uuid, uuid, dispatch.wake, timestamptz) is
$doc$Make the details of the run that a wake becomes at p_now.

Errors: none.$doc$;

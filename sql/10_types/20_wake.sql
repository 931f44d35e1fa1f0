create type dispatch.wake as (
    agent_id uuid,
    reason text,
    source text,
    payload jsonb,
    idempotency_key text,
    issue_id uuid,
    chat_session_id uuid,
    autopilot_run_id uuid,
    comment_id uuid,
    priority integer,
    fire_at timestamptz,
    coalesce boolean,
    max_attempts integer,
    attempt integer,
    runtime_id uuid,
    actor_type text,
    actor_id uuid,
    acting_run_id uuid,
    originator_id uuid,
    accountable_id uuid,
    attribution_source text,
    evidence_kind text,
    evidence_id uuid,
    delegated_from_run_id uuid,
    parent_run_id uuid,
    rerun_of_run_id uuid,
    escalation_for_run_id uuid,
    squad_id uuid,
    is_leader_run boolean,
    handoff_note text,
    session_id text,
    work_dir text,
    force_fresh boolean,
    skip text[]
);

comment on type dispatch.wake is
$doc$One request to start an agent, as the admission seam takes it.

An attribute left NULL has the default of a plain wake. runtime_id, attempt and the stamped
attribution are given by retries and follow-ups only, which also name in skip the gates that do
not apply to them: agent, attribution, pause, duplicate, coalesce, allowance.$doc$;

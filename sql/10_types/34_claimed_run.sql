create type dispatch.claimed_run as (
    run_id uuid,
    workspace_id uuid,
    agent_id uuid,
    runtime_id uuid,
    issue_id uuid,
    chat_session_id uuid,
    autopilot_run_id uuid,
    claim_no integer,
    attempt integer,
    priority integer,
    reason text,
    payload jsonb,
    triggers jsonb,
    requested_at timestamptz,
    dispatched_at timestamptz,
    lease_expires_at timestamptz,
    originator_id uuid,
    accountable_id uuid,
    attribution_source text,
    is_leader_run boolean,
    squad_id uuid,
    handoff_note text,
    session_id text,
    work_dir text,
    reclaimed boolean
);

comment on type dispatch.claimed_run is
$doc$A run that was handed to a daemon, with what the daemon needs to do it.

claim_no is the fence: every later report about this run must carry it. triggers holds the wakes
that the run stands for, in order of arrival. reclaimed is true when an earlier claim of it was
never confirmed.$doc$;

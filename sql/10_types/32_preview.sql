create type dispatch.preview as (
    issue_id uuid,
    agent_id uuid,
    source text,
    will_run boolean,
    outcome dispatch.outcome,
    reason_code dispatch.reason_code,
    detail jsonb
);

comment on type dispatch.preview is
$doc$What a write to one issue would answer. will_run is outcome = queued.$doc$;

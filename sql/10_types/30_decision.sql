create type dispatch.decision as (
    outcome dispatch.outcome,
    reason_code dispatch.reason_code,
    run_id uuid,
    agent_id uuid,
    source text,
    detail jsonb
);

comment on type dispatch.decision is
$doc$What became of one wake.

run_id is the new, merged-into, absorbing or already existing run; NULL for rate_limited,
blocked and none.$doc$;

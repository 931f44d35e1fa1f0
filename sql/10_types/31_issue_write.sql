create type dispatch.issue_write as (
    issue_id uuid,
    identifier text,
    assignment_generation bigint,
    outcome dispatch.outcome,
    reason_code dispatch.reason_code,
    run_id uuid,
    agent_id uuid,
    source text,
    detail jsonb
);

comment on type dispatch.issue_write is
$doc$An issue after a write, and what became of the wake that the write asked for.$doc$;

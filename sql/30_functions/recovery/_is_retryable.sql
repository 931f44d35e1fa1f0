create or replace function dispatch._is_retryable(p_failure_reason text)
returns boolean
language sql
immutable
parallel safe
as $fn$
select p_failure_reason in (
    'runtime_offline', 'runtime_recovery', 'timeout', 'codex_semantic_inactivity',
    'agent_error.provider_network', 'skill_bundle_unavailable'
);
$fn$;

comment on function dispatch._is_retryable(text) is
$doc$Tell whether a failure for this reason may be repeated automatically. Rule: issue-to-run 4.

Errors: none.$doc$;

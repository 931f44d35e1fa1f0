create type dispatch.reason_code as enum (
    'queued', 'coalesced', 'deferred', 'duplicate_recent', 'duplicate_key', 'already_active',
    'allowance_exhausted', 'invocation_not_allowed', 'target_unavailable',
    'agent_runtime_required', 'runtime_offline', 'runtime_unusable', 'attribution_blocked',
    'paused', 'pause_unreadable', 'agent_not_runnable', 'self_trigger_suppressed',
    'internal_error', 'not_triggered'
);

comment on type dispatch.reason_code is
$doc$Why a wake ended as it did: set by the branch that decides, carried unchanged.$doc$;

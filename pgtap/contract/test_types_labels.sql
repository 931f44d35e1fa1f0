begin;
select plan(3);

select enum_has_labels(
    'dispatch', 'outcome',
    array[
        'queued', 'coalesced', 'deferred', 'deduplicated', 'absorbed', 'rate_limited',
        'blocked', 'none'
    ],
    'the outcomes are a closed set in this order'
);

select enum_has_labels(
    'dispatch', 'run_status',
    array[
        'deferred', 'queued', 'dispatched', 'waiting_local_directory', 'running', 'completed',
        'failed', 'cancelled'
    ],
    'a run stands in one of these'
);

select enum_has_labels(
    'dispatch', 'reason_code',
    array[
        'queued', 'coalesced', 'deferred', 'duplicate_recent', 'duplicate_key',
        'already_active', 'allowance_exhausted', 'invocation_not_allowed', 'target_unavailable',
        'agent_runtime_required', 'runtime_offline', 'runtime_unusable', 'attribution_blocked',
        'paused', 'pause_unreadable', 'agent_not_runnable', 'self_trigger_suppressed',
        'internal_error', 'not_triggered'
    ],
    'the reason codes are a closed set'
);

select * from finish();
rollback;

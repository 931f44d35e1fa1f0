create type dispatch.outcome as enum (
    'queued', 'coalesced', 'deferred', 'deduplicated', 'absorbed', 'rate_limited', 'blocked',
    'none'
);

comment on type dispatch.outcome is
$doc$What became of a wake. "none" means that nothing was attempted, never that it was
refused.$doc$;

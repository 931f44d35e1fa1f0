create type dispatch.run_status as enum (
    'deferred', 'queued', 'dispatched', 'waiting_local_directory', 'running',
    'completed', 'failed', 'cancelled'
);

comment on type dispatch.run_status is
$doc$Where a run stands. The last three are terminal and never change again.$doc$;

-- Locks: one run row FOR NO KEY UPDATE, and never waits for it: for callers that hold agents,
-- which come before runs.
create or replace function dispatch._try_lock_run(
    p_workspace_id uuid,
    p_run_id uuid,
    p_statuses dispatch.run_status[]
)
returns boolean
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    perform
    from dispatch.run as r
    where r.workspace_id = p_workspace_id and r.id = p_run_id and r.status = any(p_statuses)
    for no key update skip locked;
    return found;
end;
$fn$;

comment on function dispatch._try_lock_run(uuid, uuid, dispatch.run_status[]) is
$doc$Hold a run's row if nobody else does and it stands in one of the statuses; tell whether it
is held.

Errors: none.$doc$;

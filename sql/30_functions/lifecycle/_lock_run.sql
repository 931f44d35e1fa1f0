-- Locks: one run row FOR NO KEY UPDATE, before the instant is read, so that no expiry is judged
-- by a time from before the wait.
create or replace function dispatch._lock_run(p_workspace_id uuid, p_run_id uuid)
returns void
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    perform
    from dispatch.run as r
    where r.workspace_id = p_workspace_id and r.id = p_run_id
    for no key update;
end;
$fn$;

comment on function dispatch._lock_run(uuid, uuid) is
$doc$Hold a run's row until the transaction ends; nothing happens when there is none.

Errors: none.$doc$;

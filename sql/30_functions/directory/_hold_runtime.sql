-- Locks: the runtime FOR KEY SHARE, for which no heartbeat waits.
create or replace function dispatch._hold_runtime(p_workspace_id uuid, p_runtime_id uuid)
returns void
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    perform
    from dispatch.runtime as r
    where r.workspace_id = p_workspace_id and r.id = p_runtime_id
    for key share;
    if not found then
        perform dispatch._raise(
            'PD404', 'runtime not found', 'p_runtime_id', 'name a runtime of the workspace.'
        );
    end if;
end;
$fn$;

comment on function dispatch._hold_runtime(uuid, uuid) is
$doc$Refuse an unknown runtime, and keep a known one until the transaction ends.

Errors: PD404 runtime not found.$doc$;

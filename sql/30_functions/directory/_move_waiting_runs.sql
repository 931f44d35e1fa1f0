-- Locks: the runs by id. The caller holds the agent FOR UPDATE, so no run is added meanwhile.
create or replace function dispatch._move_waiting_runs(
    p_workspace_id uuid,
    p_agent_id uuid,
    p_runtime_id uuid
)
returns void
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_runs constant uuid[] := dispatch._live_runs(p_workspace_id, p_agent_id);
begin
    perform
    from dispatch.run as r
    where r.workspace_id = p_workspace_id and r.id = any(v_runs)
    order by r.id
    for no key update;
    update dispatch.run as r
    set runtime_id = p_runtime_id
    where r.workspace_id = p_workspace_id
        and r.id = any(v_runs)
        and r.status in ('queued', 'deferred')
        and r.runtime_id is distinct from p_runtime_id;
end;
$fn$;

comment on function dispatch._move_waiting_runs(uuid, uuid, uuid) is
$doc$Move an agent's queued and deferred runs to a runtime; those in a daemon's hands stay.

Errors: none.$doc$;

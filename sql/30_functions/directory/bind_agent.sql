-- Locks: the runtime FOR KEY SHARE, the agent FOR UPDATE, then its waiting runs by id.
create or replace function dispatch.bind_agent(
    p_workspace_id uuid,
    p_agent_id uuid,
    p_runtime_id uuid
)
returns void
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_old_runtime uuid;
begin
    perform dispatch._hold_workspace(p_workspace_id);
    perform dispatch._check_ids(array['p_agent_id'], array[p_agent_id]);
    perform dispatch._check_optional_ids(array['p_runtime_id'], array[p_runtime_id]);
    if p_runtime_id is not null then
        perform dispatch._hold_runtime(p_workspace_id, p_runtime_id);
    end if;
    v_old_runtime := dispatch._lock_live_agent(p_workspace_id, p_agent_id);
    if p_runtime_id is not distinct from v_old_runtime then
        return;
    end if;
    update dispatch.agent as a
    set runtime_id = p_runtime_id
    where a.workspace_id = p_workspace_id and a.id = p_agent_id;
    if p_runtime_id is not null then
        perform dispatch._move_waiting_runs(p_workspace_id, p_agent_id, p_runtime_id);
        perform dispatch._notify_runtimes(array[p_runtime_id]);
    end if;
end;
$fn$;

comment on function dispatch.bind_agent(uuid, uuid, uuid) is
$doc$Move an agent, with its queued and deferred runs, to a runtime.

p_runtime_id NULL unbinds it; those runs then keep the runtime that they had. Runs in a daemon's
hands stay there. Repeating a call changes nothing.
Errors: PD400 missing or all-zero argument; PD404 workspace, agent or runtime not found; PD409
agent is archived.$doc$;

-- Locks: the agent FOR UPDATE.
create or replace function dispatch.set_agent_status(
    p_workspace_id uuid,
    p_agent_id uuid,
    p_status text
)
returns void
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_runtime uuid;
begin
    perform dispatch._require_workspace(p_workspace_id);
    perform dispatch._check_ids(array['p_agent_id'], array[p_agent_id]);
    perform dispatch._check_word(
        'p_status', p_status, array['active', 'paused', 'stopped', 'pending_approval']
    );
    v_runtime := dispatch._lock_live_agent(p_workspace_id, p_agent_id);
    update dispatch.agent as a
    set status = p_status
    where a.workspace_id = p_workspace_id and a.id = p_agent_id and a.status <> p_status;
    if found and p_status = 'active' then
        perform dispatch._notify_runtimes(array[v_runtime]);
    end if;
end;
$fn$;

comment on function dispatch.set_agent_status(uuid, uuid, text) is
$doc$Set an agent to active, paused, stopped or pending_approval.

Only an active agent is woken and claimed for; its runs stay as they are. Repeating a call
changes nothing.
Errors: PD400 missing, unknown or all-zero argument; PD404 workspace or agent not found; PD409
agent is archived.$doc$;

-- Locks: the agent FOR UPDATE, so that neither an enqueue nor a claim sees it half changed.
create or replace function dispatch._lock_live_agent(p_workspace_id uuid, p_agent_id uuid)
returns uuid
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_runtime uuid;
    v_archived_at timestamptz;
begin
    select a.runtime_id, a.archived_at
    into v_runtime, v_archived_at
    from dispatch.agent as a
    where a.workspace_id = p_workspace_id and a.id = p_agent_id
    for update;
    if not found then
        perform dispatch._raise(
            'PD404', 'agent not found', 'p_agent_id', 'name an agent of the workspace.'
        );
    elsif v_archived_at is not null then
        perform dispatch._raise(
            'PD409', 'agent is archived', 'p_agent_id', 'an archived agent stays as it was.'
        );
    end if;
    return v_runtime;
end;
$fn$;

comment on function dispatch._lock_live_agent(uuid, uuid) is
$doc$Lock an agent for a change, and give the runtime it is bound to.

Errors: PD404 agent not found, PD409 agent is archived.$doc$;

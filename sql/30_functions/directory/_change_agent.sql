create or replace function dispatch._change_agent(
    p_workspace_id uuid,
    p_agent_id uuid,
    p_name text,
    p_owner_id uuid,
    p_runtime_id uuid,
    p_permission text,
    p_max_concurrent_runs integer
)
returns void
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_old_runtime constant uuid := dispatch._lock_live_agent(p_workspace_id, p_agent_id);
    v_runtime constant uuid := coalesce(p_runtime_id, v_old_runtime);
    v_old_capacity integer;
begin
    select a.max_concurrent_runs
    into v_old_capacity
    from dispatch.agent as a
    where a.workspace_id = p_workspace_id and a.id = p_agent_id;
    update dispatch.agent as a
    set
        name = p_name,
        owner_id = p_owner_id,
        runtime_id = v_runtime,
        permission = coalesce(p_permission, a.permission),
        max_concurrent_runs = coalesce(p_max_concurrent_runs, a.max_concurrent_runs)
    where a.workspace_id = p_workspace_id
        and a.id = p_agent_id
        and (a.name, a.owner_id, a.runtime_id, a.permission, a.max_concurrent_runs)
        is distinct from (
            p_name, p_owner_id, v_runtime, coalesce(p_permission, a.permission),
            coalesce(p_max_concurrent_runs, a.max_concurrent_runs)
        );
    if v_runtime is distinct from v_old_runtime then
        perform dispatch._move_waiting_runs(p_workspace_id, p_agent_id, v_runtime);
    end if;
    if v_runtime is distinct from v_old_runtime or p_max_concurrent_runs > v_old_capacity then
        perform dispatch._notify_runtimes(array[v_runtime]);
    end if;
end;
$fn$;

comment on function dispatch._change_agent(uuid, uuid, text, uuid, uuid, text, integer) is
$doc$Change an agent that is there; the arguments are those of put_agent, already checked.

Errors: PD404 agent not found, PD409 agent is archived.$doc$;

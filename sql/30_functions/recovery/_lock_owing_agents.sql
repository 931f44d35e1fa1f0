-- A follow-up locks the run's agent, and agents are locked before runs. Only the few runs that
-- owe wakes need it, so the others pay for one look at an index.
create or replace function dispatch._lock_owing_agents(p_workspace_id uuid, p_run_ids uuid[])
returns void
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_agents uuid[];
begin
    v_agents := array(
        select distinct r.agent_id
        from dispatch.run_trigger as t
        inner join dispatch.run as r on r.workspace_id = t.workspace_id and r.id = t.run_id
        where t.workspace_id = p_workspace_id
            and r.workspace_id = p_workspace_id
            and t.run_id = any(p_run_ids)
            and t.count > t.delivered_count
    );
    if cardinality(v_agents) > 0 then
        perform dispatch._lock_agents(p_workspace_id, v_agents);
    end if;
end;
$fn$;

comment on function dispatch._lock_owing_agents(uuid, uuid[]) is
$doc$Keep the agents of those runs that owe wakes from being archived or deleted.

Errors: none.$doc$;

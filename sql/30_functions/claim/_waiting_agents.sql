-- Steps from agent to agent along the claim index, so that the cost is that of the agents with
-- queued runs and not of their backlog.
create or replace function dispatch._waiting_agents(
    p_workspace_id uuid,
    p_runtime_ids uuid[],
    p_agents uuid[],
    p_free integer[]
)
returns uuid[]
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    return array(
        select distinct c.agent_id
        from dispatch._claim_pairs(p_workspace_id, p_runtime_ids) as c
        left join unnest(p_agents, p_free) as s (agent_id, free) on s.agent_id = c.agent_id
        where s.agent_id is null or s.free > 0
    );
end;
$fn$;

comment on function dispatch._waiting_agents(uuid, uuid[], uuid[], integer[]) is
$doc$Give the agents with queued runs on these runtimes that were not asked yet or may be handed
more.

p_agents are those asked and p_free how many more runs each may be handed, NULL while another
claim holds it.
Errors: none.$doc$;

create or replace function dispatch._due_agents(
    p_workspace_id uuid,
    p_runtime_ids uuid[],
    p_now timestamptz,
    p_max integer
)
returns uuid[]
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    return array(
        select distinct d.agent_id
        from (
            select r.agent_id
            from dispatch.run as r
            where r.workspace_id = p_workspace_id
                and r.runtime_id = any(p_runtime_ids)
                and r.status = 'deferred'
                and r.fire_at <= p_now
            order by r.fire_at
            limit p_max
        ) as d
    );
end;
$fn$;

comment on function dispatch._due_agents(uuid, uuid[], timestamptz, integer) is
$doc$Give the agents of the p_max deferred runs on these runtimes that are longest due at p_now.

Errors: none.$doc$;

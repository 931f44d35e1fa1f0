create or replace function dispatch._run_agents(p_workspace_id uuid, p_run_ids uuid[])
returns uuid[]
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    return array(
        select distinct r.agent_id
        from unnest(p_run_ids) as i (id)
        cross join lateral (
            select s.agent_id
            from dispatch.run as s
            where s.workspace_id = p_workspace_id and s.id = i.id
            limit 1
        ) as r
        order by r.agent_id
    );
end;
$fn$;

comment on function dispatch._run_agents(uuid, uuid[]) is
$doc$Give the agents of these runs, each once, by id.

Errors: none.$doc$;

-- Steps from agent to agent along the claim index, so that the cost is that of the agents with
-- queued runs and not of their backlog.
create or replace function dispatch._claim_pairs(p_workspace_id uuid, p_runtime_ids uuid[])
returns table (runtime_id uuid, agent_id uuid)
language plpgsql
stable
parallel safe
rows 10
set search_path = pg_catalog, pg_temp
as $fn$
begin
    return query
    with recursive pair as (
        select
            rt.id as runtime_id,
            (
                select r.agent_id
                from dispatch.run as r
                where r.workspace_id = p_workspace_id
                    and r.runtime_id = rt.id
                    and r.status = 'queued'
                order by r.agent_id
                limit 1
            ) as agent_id
        from unnest(p_runtime_ids) as rt (id)
        union all
        select
            p.runtime_id,
            (
                select r.agent_id
                from dispatch.run as r
                where r.workspace_id = p_workspace_id
                    and r.runtime_id = p.runtime_id
                    and r.status = 'queued'
                    and r.agent_id > p.agent_id
                order by r.agent_id
                limit 1
            )
        from pair as p
        where p.agent_id is not null
    )
    select p.runtime_id, p.agent_id
    from pair as p
    where p.agent_id is not null;
end;
$fn$;

comment on function dispatch._claim_pairs(uuid, uuid[]) is
$doc$List which agents have queued runs on which of the runtimes.

Errors: none.$doc$;

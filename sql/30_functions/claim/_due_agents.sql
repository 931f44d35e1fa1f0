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
declare
    v_fresh constant uuid[] := dispatch._fresh_runtimes(p_workspace_id, p_runtime_ids, p_now);
begin
    return array(
        select distinct d.agent_id
        from (
            select r.agent_id
            from unnest(v_fresh) as rt (id)
            cross join lateral (
                select s.agent_id, s.fire_at
                from dispatch.run as s
                where s.workspace_id = p_workspace_id
                    and s.runtime_id = rt.id
                    and s.status = 'deferred'
                    and s.fire_at <= p_now
                    and not exists (
                        select
                        from dispatch.run as o
                        where o.workspace_id = p_workspace_id
                            and o.agent_id = s.agent_id
                            and o.issue_id = s.issue_id
                            and o.status in ('queued', 'dispatched')
                    )
                order by s.fire_at
                limit p_max
            ) as r
            order by r.fire_at
            limit p_max
        ) as d
    );
end;
$fn$;

comment on function dispatch._due_agents(uuid, uuid[], timestamptz, integer) is
$doc$Give the agents of the p_max deferred runs on those of these runtimes that are fresh that
are longest due at p_now and whose pending slot is free.

Errors: none.$doc$;

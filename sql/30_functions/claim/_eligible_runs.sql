-- The choice is materialized, since a planner that nests it would run the limits once per outer
-- row. Every table is reached by a lateral look-up: a plan made while the tables are empty can
-- then do nothing but walk the right index.
create or replace function dispatch._eligible_runs(
    p_workspace_id uuid,
    p_runtime_ids uuid[],
    p_agent_ids uuid[],
    p_max integer,
    p_per_agent integer
)
returns table (run_id uuid, agent_id uuid)
language plpgsql
stable
parallel safe
rows 10
set search_path = pg_catalog, pg_temp
as $fn$
begin
    return query
    with eligible as materialized (
        select
            q.id, m.agent_id, q.priority, q.requested_at, m.free,
            row_number() over (
                partition by m.agent_id order by q.priority desc, q.requested_at, q.id
            ) as place,
            row_number() over (
                partition by m.agent_id, q.lane
                order by q.priority desc, q.requested_at, q.id
            ) as lane_place
        from (select distinct i.id from unnest(p_agent_ids) as i (id)) as g
        cross join lateral (
            select
                a.id as agent_id,
                least(p_per_agent, p_max, a.max_concurrent_runs - (
                    select count(*)
                    from dispatch.run as b
                    where b.workspace_id = p_workspace_id
                        and b.agent_id = a.id
                        and b.status in (
                            'dispatched', 'waiting_local_directory', 'running'
                        )
                )) as free
            from dispatch.agent as a
            where a.workspace_id = p_workspace_id
                and a.id = g.id
                and a.status = 'active'
                and a.archived_at is null
            limit 1
        ) as m
        cross join unnest(p_runtime_ids) as rt (id)
        cross join lateral (
            select r.id, r.lane, r.priority, r.requested_at
            from dispatch.run as r
            where r.workspace_id = p_workspace_id
                and r.runtime_id = rt.id
                and r.agent_id = m.agent_id
                and r.status = 'queued'
                and not exists (
                    select
                    from dispatch.run as b
                    where b.workspace_id = p_workspace_id
                        and b.agent_id = r.agent_id
                        and b.lane = r.lane
                        and b.status in (
                            'dispatched', 'waiting_local_directory', 'running'
                        )
                )
                -- Only a chat session's or the quick-create lane can queue several runs.
                and (r.issue_id is not null or r.lane = r.id or r.id = (
                    select e.id
                    from dispatch.run as e
                    where e.workspace_id = p_workspace_id
                        and e.agent_id = r.agent_id
                        and e.lane = r.lane
                        and e.status = 'queued'
                        and e.issue_id is null
                        and e.lane <> e.id
                        and e.runtime_id = any(p_runtime_ids)
                    order by e.priority desc, e.requested_at, e.id
                    limit 1
                ))
            order by r.priority desc, r.requested_at, r.id
            limit greatest(m.free, 0)
        ) as q
    )
    select e.id, e.agent_id
    from eligible as e
    where e.place <= e.free and e.lane_place = 1
    order by e.priority desc, e.requested_at, e.id
    limit p_max;
end;
$fn$;

comment on function dispatch._eligible_runs(uuid, uuid[], uuid[], integer, integer) is
$doc$List up to p_max queued runs of these agents on these runtimes that may be claimed, in
claim order.

Keeps each agent within its capacity and p_per_agent, and one active run a lane; a run that may
not start yet hides none behind it. Order: priority, request, id. Holds for as long as the
caller holds the agents; without their locks it is a guess. Rule: issue-to-run 4.
Errors: none.$doc$;

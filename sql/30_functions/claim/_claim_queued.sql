-- Locks: run rows, skip locked; the caller holds the agents, so the counts below hold until it
-- commits. The choice is materialized, since a planner that nests it would run the limits once
-- per outer row, and made before any lock, so that no run is locked that is not taken. Every
-- table is reached by a lateral look-up, and the rows are moved one by one by their key: a plan
-- made while the tables are empty can then do nothing but walk the right index.
create or replace function dispatch._claim_queued(
    p_workspace_id uuid,
    p_runtime_ids uuid[],
    p_agent_ids uuid[],
    p_max integer,
    p_per_agent integer,
    p_is_started boolean,
    p_lease interval,
    p_now timestamptz
)
returns uuid[]
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_status constant dispatch.run_status := case
        when p_is_started then 'running'::dispatch.run_status else 'dispatched'
    end;
    v_claimed uuid[];
    v_run uuid;
begin
    v_claimed := array(
        with eligible as materialized (
            select
                q.id, q.priority, q.requested_at, m.free,
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
        ),
        chosen as materialized (
            select e.id
            from eligible as e
            where e.place <= e.free and e.lane_place = 1
            order by e.priority desc, e.requested_at, e.id
            limit p_max
        )
        select k.id
        from (select c.id from chosen as c order by c.id) as c
        cross join lateral (
            select r.id
            from dispatch.run as r
            where r.workspace_id = p_workspace_id and r.id = c.id and r.status = 'queued'
            limit 1
            for no key update skip locked
        ) as k
    );
    foreach v_run in array v_claimed loop
        update dispatch.run as r
        set
            status = v_status,
            claim_no = r.claim_no + 1,
            dispatched_at = p_now,
            started_at = case when p_is_started then p_now end,
            lease_expires_at = p_now + p_lease
        where r.workspace_id = p_workspace_id and r.id = v_run;
    end loop;
    return v_claimed;
end;
$fn$;

comment on function dispatch._claim_queued(
    uuid, uuid[], uuid[], integer, integer, boolean, interval, timestamptz
) is
$doc$Move up to p_max queued runs of these agents on these runtimes to dispatched, or to
running.

Keeps each agent within its capacity and p_per_agent, and one active run a lane; a run that may
not start yet hides none behind it. Order: priority, request, id. Returns the runs. Rule:
issue-to-run 4.
Errors: none.$doc$;

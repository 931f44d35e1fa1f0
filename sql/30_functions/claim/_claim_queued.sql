-- Locks: run rows, skip locked; the caller holds the agents, so the counts below hold until it
-- commits. Choosing and locking are two steps, so that no run is locked that is not taken; both
-- are materialized, since a planner that nests them would run the limits once per outer row.
-- The update repeats the status, because only the outermost condition is rechecked after a lock
-- wait.
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
    v_claimed uuid[];
begin
    with room as materialized (
        select
            a.id as agent_id,
            least(p_per_agent, p_max, a.max_concurrent_runs - (
                select count(*)
                from dispatch.run as b
                where b.workspace_id = p_workspace_id
                    and b.agent_id = a.id
                    and b.status in ('dispatched', 'waiting_local_directory', 'running')
            )) as free
        from dispatch.agent as a
        where a.workspace_id = p_workspace_id
            and a.id = any(p_agent_ids)
            and a.status = 'active'
            and a.archived_at is null
    ),
    eligible as materialized (
        select
            q.id, q.priority, q.requested_at, m.free,
            row_number() over (
                partition by m.agent_id order by q.priority desc, q.requested_at, q.id
            ) as place,
            row_number() over (
                partition by m.agent_id, q.lane order by q.priority desc, q.requested_at, q.id
            ) as lane_place
        from room as m
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
                        and b.status in ('dispatched', 'waiting_local_directory', 'running')
                )
                and (
                    r.issue_id is not null
                    or r.lane = r.id
                    or not exists (
                        select
                        from dispatch.run as e
                        where e.workspace_id = p_workspace_id
                            and e.agent_id = r.agent_id
                            and e.lane = r.lane
                            and e.status = 'queued'
                            and e.issue_id is null
                            and e.lane <> e.id
                            and e.runtime_id = r.runtime_id
                            and (-e.priority, e.requested_at, e.id)
                            < (-r.priority, r.requested_at, r.id)
                    )
                )
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
    ),
    taken as materialized (
        select r.id
        from dispatch.run as r
        where r.workspace_id = p_workspace_id
            and r.id in (select c.id from chosen as c)
            and r.status = 'queued'
        order by r.id
        for no key update skip locked
    ),
    moved as (
        update dispatch.run as r
        set
            status = case when p_is_started then 'running' else 'dispatched' end
            ::dispatch.run_status,
            claim_no = r.claim_no + 1,
            dispatched_at = p_now,
            started_at = case when p_is_started then p_now end,
            lease_expires_at = p_now + p_lease
        from taken as t
        where r.workspace_id = p_workspace_id and r.id = t.id and r.status = 'queued'
        returning r.id
    )
    select array_agg(m.id) into v_claimed from moved as m;
    return coalesce(v_claimed, '{}');
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

-- Locks: run rows, skip locked. Asked in the statement that locks them, whose snapshot is
-- younger than the agents' locks. The status is compared with a variable, so that the key's
-- index is the only one that offers itself.
create or replace function dispatch._hold_runs(
    p_workspace_id uuid,
    p_run_ids uuid[],
    p_runtime_ids uuid[],
    p_since timestamptz
)
returns uuid[]
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_queued constant dispatch.run_status := 'queued'::dispatch.run_status;
begin
    return array(
        select h.id
        from (
            select
                k.id,
                row_number() over (partition by k.agent_id, k.lane order by i.place) as place
            from unnest(p_run_ids) with ordinality as i (id, place)
            cross join lateral (
                select r.id, r.agent_id, r.lane
                from dispatch.run as r
                where r.workspace_id = p_workspace_id
                    and r.id = i.id
                    and r.status = v_queued
                    and r.runtime_id = any(p_runtime_ids)
                    and exists (
                        select
                        from dispatch.runtime as t
                        where t.workspace_id = p_workspace_id
                            and t.id = r.runtime_id
                            and t.status = 'online'
                            and coalesce(t.last_seen_at, t.updated_at) >= p_since
                    )
                    and not exists (
                        select
                        from dispatch.run as b
                        where b.workspace_id = p_workspace_id
                            and b.agent_id = r.agent_id
                            and b.lane = r.lane
                            and b.status in ('dispatched', 'waiting_local_directory', 'running')
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
                limit 1
                for no key update of r skip locked
            ) as k
        ) as h
        where h.place = 1
    );
end;
$fn$;

comment on function dispatch._hold_runs(uuid, uuid[], uuid[], timestamptz) is
$doc$Hold those of these runs that may be claimed until the transaction ends, and give them.

Each must be queued on one of the runtimes, which is online and was seen since p_since, its lane
must be idle, and no other queued run may come before it in its lane; of several in one lane the
first given is held. The caller holds the agents.
Errors: none.$doc$;

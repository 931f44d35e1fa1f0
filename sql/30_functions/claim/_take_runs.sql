-- Locks: run rows, skip locked, in claim order; none is waited for, since the caller holds
-- agents. The instant, the pause and the runtimes' freshness are read after the agents' locks.
-- Capacity and lane are asked again in the statement that locks the row, whose snapshot is
-- younger than the agents' locks and sees what this call has taken before; so the order in
-- which they were guessed stays, and what another claim took meanwhile is left out. The status
-- is compared with a variable, so that the key's index is the only one that offers itself.
create or replace function dispatch._take_runs(
    p_workspace_id uuid,
    p_runtime_ids uuid[],
    p_run_ids uuid[],
    p_owner_ids uuid[],
    p_held_ids uuid[],
    p_is_started boolean,
    p_lease interval
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
    v_now constant timestamptz := dispatch.clock();
    v_fresh constant uuid[] := dispatch._fresh_runtimes(p_workspace_id, p_runtime_ids, v_now);
    v_queued constant dispatch.run_status := 'queued'::dispatch.run_status;
    v_taken uuid[] := '{}'::uuid[];
begin
    if cardinality(v_fresh) = 0 or dispatch._workspace_is_paused(p_workspace_id) then
        return v_taken;
    end if;
    -- Before the runs are handed out, so that they deliver what the retries stood for.
    perform dispatch._drop_superseded(p_workspace_id, p_held_ids, v_now);
    for v_i in 1..cardinality(p_run_ids) loop
        continue when not p_owner_ids[v_i] = any(p_held_ids);
        perform
        from dispatch.run as r
        where r.workspace_id = p_workspace_id
            and r.id = p_run_ids[v_i]
            and r.status = v_queued
            and r.runtime_id = any(v_fresh)
            and not exists (
                select
                from dispatch.run as b
                where b.workspace_id = p_workspace_id
                    and b.agent_id = r.agent_id
                    and b.lane = r.lane
                    and b.status in ('dispatched', 'waiting_local_directory', 'running')
            )
            and (
                select count(*)
                from dispatch.run as b
                where b.workspace_id = p_workspace_id
                    and b.agent_id = r.agent_id
                    and b.status in ('dispatched', 'waiting_local_directory', 'running')
            ) < (
                select a.max_concurrent_runs
                from dispatch.agent as a
                where a.workspace_id = p_workspace_id
                    and a.id = r.agent_id
                    and a.status = 'active'
            )
        for no key update of r skip locked;
        continue when not found;
        update dispatch.run as r
        set
            status = v_status,
            claim_no = r.claim_no + 1,
            dispatched_at = v_now,
            started_at = case when p_is_started then v_now end,
            lease_expires_at = v_now + p_lease
        where r.workspace_id = p_workspace_id and r.id = p_run_ids[v_i];
        v_taken := v_taken || p_run_ids[v_i];
    end loop;
    return v_taken;
end;
$fn$;

comment on function dispatch._take_runs(
    uuid, uuid[], uuid[], uuid[], uuid[], boolean, interval
) is
$doc$Move those of these queued runs that may be claimed to dispatched, or to running, in their
order.

p_owner_ids are their agents in the same order; only runs of p_held_ids are taken, whose locks
the caller has. Keeps each agent within its capacity and one active run a lane. Returns the runs
that moved. Rule: issue-to-run 4.
Errors: none.$doc$;

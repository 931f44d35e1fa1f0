-- Locks: run rows, skip locked; the caller holds the agents, so what is counted holds until it
-- commits. The choice is made before any run is locked, so that none is locked that is not
-- taken, and the rows are moved one by one by their key, which is the same walk whatever the
-- tables held when it was planned.
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
    v_chosen uuid[];
    v_claimed uuid[] := '{}'::uuid[];
    v_run uuid;
begin
    v_chosen := array(
        select e.run_id
        from dispatch._eligible_runs(
            p_workspace_id, p_runtime_ids, p_agent_ids, p_max, p_per_agent
        ) as e
        order by e.run_id
    );
    foreach v_run in array v_chosen loop
        perform
        from dispatch.run as r
        where r.workspace_id = p_workspace_id and r.id = v_run and r.status = 'queued'
        for no key update skip locked;
        continue when not found;
        update dispatch.run as r
        set
            status = v_status,
            claim_no = r.claim_no + 1,
            dispatched_at = p_now,
            started_at = case when p_is_started then p_now end,
            lease_expires_at = p_now + p_lease
        where r.workspace_id = p_workspace_id and r.id = v_run;
        v_claimed := v_claimed || v_run;
    end loop;
    return v_claimed;
end;
$fn$;

comment on function dispatch._claim_queued(
    uuid, uuid[], uuid[], integer, integer, boolean, interval, timestamptz
) is
$doc$Move up to p_max queued runs of these agents on these runtimes to dispatched, or to
running.

Takes what _eligible_runs lists, but for runs that another transaction holds. Returns the runs.
Rule: issue-to-run 4.
Errors: none.$doc$;

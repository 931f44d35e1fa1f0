-- A few rows go one by one by their key, which is the same walk whatever the tables held when
-- the plan was made; more go by one statement, which is planned each time.
create or replace function dispatch._move_runs(
    p_workspace_id uuid,
    p_run_ids uuid[],
    p_status dispatch.run_status,
    p_is_claim boolean,
    p_leases interval[],
    p_now timestamptz
)
returns uuid[]
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_runtime uuid;
    v_runtimes uuid[] := '{}'::uuid[];
begin
    if cardinality(p_run_ids) > 4 then
        return dispatch._move_many_runs(
            p_workspace_id, p_run_ids, p_status, p_is_claim, p_leases, p_now
        );
    end if;
    for v_i in 1..cardinality(p_run_ids) loop
        update dispatch.run as r
        set
            status = p_status,
            claim_no = r.claim_no + p_is_claim::integer,
            dispatched_at = case when p_is_claim then p_now else r.dispatched_at end,
            started_at = case when p_status = 'running' then p_now else r.started_at end,
            finished_at = case when p_status = 'completed' then p_now end,
            lease_expires_at = p_now + p_leases[v_i]
        where r.workspace_id = p_workspace_id and r.id = p_run_ids[v_i]
        returning r.runtime_id into v_runtime;
        if not v_runtime = any(v_runtimes) then
            v_runtimes := v_runtimes || v_runtime;
        end if;
    end loop;
    return v_runtimes;
end;
$fn$;

comment on function dispatch._move_runs(
    uuid, uuid[], dispatch.run_status, boolean, interval[], timestamptz
) is
$doc$Move runs, which the caller holds and has found fit for it, to dispatched, running or
completed, and give their runtimes.

p_is_claim gives each its next claim number. p_leases are how long each counts as alive after
p_now, NULL for no lease.
Errors: none.$doc$;

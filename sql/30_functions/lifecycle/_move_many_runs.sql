-- Planned each time, with the ids in hand: what the planner finds out about the tables then is
-- worth more than what it costs, and no plan made while they were empty is kept.
create or replace function dispatch._move_many_runs(
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
set plan_cache_mode = force_custom_plan
as $fn$
declare
    v_runtimes uuid[];
begin
    with moved as (
        update dispatch.run as r
        set
            status = p_status,
            claim_no = r.claim_no + p_is_claim::integer,
            dispatched_at = case when p_is_claim then p_now else r.dispatched_at end,
            started_at = case when p_status = 'running' then p_now else r.started_at end,
            finished_at = case when p_status = 'completed' then p_now end,
            lease_expires_at = p_now + p_leases[array_position(p_run_ids, r.id)]
        where r.workspace_id = p_workspace_id and r.id = any(p_run_ids)
        returning r.runtime_id
    )
    select array_agg(distinct m.runtime_id) into v_runtimes from moved as m;
    return v_runtimes;
end;
$fn$;

comment on function dispatch._move_many_runs(
    uuid, uuid[], dispatch.run_status, boolean, interval[], timestamptz
) is
$doc$Move runs as _move_runs does, by one statement.

Errors: none.$doc$;

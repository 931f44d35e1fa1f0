create or replace function dispatch._mark_claimed(
    p_workspace_id uuid,
    p_run_ids uuid[],
    p_is_started boolean,
    p_lease interval
)
returns void
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
begin
    for v_i in 1..cardinality(p_run_ids) loop
        update dispatch.run as r
        set
            status = v_status,
            claim_no = r.claim_no + 1,
            dispatched_at = v_now,
            started_at = case when p_is_started then v_now end,
            lease_expires_at = v_now + p_lease
        where r.workspace_id = p_workspace_id and r.id = p_run_ids[v_i];
    end loop;
end;
$fn$;

comment on function dispatch._mark_claimed(uuid, uuid[], boolean, interval) is
$doc$Move queued runs, which the caller holds, to dispatched or to running, with the next claim
number.

Errors: none.$doc$;

-- The status is compared with a variable, so that the key's index is the only one that offers
-- itself.
create or replace function dispatch.requeue_run(
    p_workspace_id uuid,
    p_run_id uuid,
    p_claim_no integer
)
returns dispatch.transition
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_dispatched constant dispatch.run_status := 'dispatched'::dispatch.run_status;
    v_runtime uuid;
begin
    perform dispatch._check_report(p_workspace_id, p_run_id, p_claim_no);
    update dispatch.run as r
    set status = 'queued', dispatched_at = null, lease_expires_at = null
    where r.workspace_id = p_workspace_id
        and r.id = p_run_id
        and r.claim_no = p_claim_no
        and r.status = v_dispatched
    returning r.runtime_id into v_runtime;
    if found then
        perform dispatch._notify_runtimes(array[v_runtime]);
        return dispatch._transition(p_workspace_id, p_run_id, p_claim_no, true);
    end if;
    return dispatch._transition(p_workspace_id, p_run_id, p_claim_no, false);
end;
$fn$;

comment on function dispatch.requeue_run(uuid, uuid, integer) is
$doc$Give a claim back at once: dispatched becomes queued, in its old place.

For a daemon that claimed and cannot prepare. The next claim delivers all of the run's wakes.
Only the claim that still has the run's number may do it. Rule: issue-to-run 4.
Errors: PD400 missing argument or all-zero id.$doc$;

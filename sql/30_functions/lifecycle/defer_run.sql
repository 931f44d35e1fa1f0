-- The status is compared with a variable, so that the key's index is the only one that offers
-- itself.
create or replace function dispatch.defer_run(
    p_workspace_id uuid,
    p_run_id uuid,
    p_claim_no integer,
    p_until timestamptz
)
returns dispatch.transition
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_active constant dispatch.run_status[] := array[
        'dispatched', 'waiting_local_directory', 'running'
    ]::dispatch.run_status[];
    v_now timestamptz := dispatch.clock();
    v_runtime uuid;
begin
    perform dispatch._check_report(p_workspace_id, p_run_id, p_claim_no);
    if p_until is null then
        perform dispatch._raise('PD400', 'argument missing', 'p_until', 'give a time.');
    end if;
    perform dispatch._check_instant('p_until', p_until, v_now);
    perform dispatch._lock_run(p_workspace_id, p_run_id);
    v_now := dispatch.clock();
    update dispatch.run as r
    set
        status = 'deferred',
        fire_at = greatest(p_until, v_now),
        dispatched_at = null,
        started_at = null,
        lease_expires_at = null
    where r.workspace_id = p_workspace_id
        and r.id = p_run_id
        and r.claim_no = p_claim_no
        and r.status = any(v_active)
    returning r.runtime_id into v_runtime;
    if found then
        perform dispatch._notify_runtimes(array[v_runtime]);
        return dispatch._transition(p_workspace_id, p_run_id, p_claim_no, true);
    end if;
    return dispatch._transition(p_workspace_id, p_run_id, p_claim_no, false);
end;
$fn$;

comment on function dispatch.defer_run(uuid, uuid, integer, timestamptz) is
$doc$Put a claimed, waiting or running run off until p_until; it uses up no attempt.

The run becomes deferred, frees its slot and lane, is queued again once due, and is then
delivered with all its wakes. A time in the past means now; at most 366 days ahead. Rule:
reliability R14.
Errors: PD400 missing argument, all-zero id or time out of range.$doc$;

-- The status is compared with a variable, so that the key's index is the only one that offers
-- itself.
create or replace function dispatch.extend_lease(
    p_workspace_id uuid,
    p_run_id uuid,
    p_claim_no integer,
    p_lease interval default null
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
    v_transition dispatch.transition;
    v_now timestamptz;
    v_expires timestamptz;
begin
    perform dispatch._check_report(p_workspace_id, p_run_id, p_claim_no);
    perform dispatch._check_lease('p_lease', p_lease);
    perform dispatch._lock_run(p_workspace_id, p_run_id);
    v_now := dispatch.clock();
    update dispatch.run as r
    set lease_expires_at = greatest(
        r.lease_expires_at, v_now + coalesce(p_lease, dispatch.prepare_lease())
    )
    where r.workspace_id = p_workspace_id
        and r.id = p_run_id
        and r.claim_no = p_claim_no
        and r.status = any(v_active)
        and r.lease_expires_at >= v_now;
    v_transition := dispatch._transition(p_workspace_id, p_run_id, p_claim_no, found);
    if v_transition.reason = 'wrong_state' then
        select r.lease_expires_at
        into v_expires
        from dispatch.run as r
        where r.workspace_id = p_workspace_id
            and r.id = p_run_id
            and r.status = any(v_active);
        if v_expires is not null then
            v_transition.reason := 'lease_expired';
        end if;
    end if;
    return v_transition;
end;
$fn$;

comment on function dispatch.extend_lease(uuid, uuid, integer, interval) is
$doc$Keep a claim, or a running run that was started with a lease, protected for longer.

The lease then lasts p_lease from now (left NULL: 45 s) and never gets shorter. A lease that has
run out is lease_expired; a running run without a lease is wrong_state. Rule: issue-to-run 4.
Errors: PD400 missing argument, all-zero id or lease out of range.$doc$;

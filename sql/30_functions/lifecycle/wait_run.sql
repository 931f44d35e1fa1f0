-- The status is compared with a variable, so that the key's index is the only one that offers
-- itself.
create or replace function dispatch.wait_run(
    p_workspace_id uuid,
    p_run_id uuid,
    p_claim_no integer,
    p_wait_reason text
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
    v_now timestamptz;
    v_found boolean;
begin
    perform dispatch._check_report(p_workspace_id, p_run_id, p_claim_no);
    perform dispatch._check_text('p_wait_reason', p_wait_reason, dispatch.error_limit());
    perform dispatch._lock_owing(p_workspace_id, array[p_run_id]);
    perform dispatch._lock_run(p_workspace_id, p_run_id);
    v_now := dispatch.clock();
    update dispatch.run as r
    set
        status = 'waiting_local_directory',
        lease_expires_at = v_now + dispatch.prepare_lease()
    where r.workspace_id = p_workspace_id
        and r.id = p_run_id
        and r.claim_no = p_claim_no
        and r.status = v_dispatched;
    v_found := found;
    if v_found then
        update dispatch.run_detail as d
        set wait_reason = btrim(p_wait_reason)
        where d.workspace_id = p_workspace_id and d.run_id = p_run_id;
        perform dispatch._settle_owed(p_workspace_id, array[p_run_id]);
    end if;
    return dispatch._transition(p_workspace_id, p_run_id, p_claim_no, v_found);
end;
$fn$;

comment on function dispatch.wait_run(uuid, uuid, integer, text) is
$doc$Report that a claimed run waits for its local directory: dispatched becomes waiting.

p_wait_reason says what it waits for, at most 64 KiB. The claim is protected for another 45 s,
to be extended while it waits. Wakes that came too late for the claim get one follow_up_run_id.
Rule: issue-to-run 4.
Errors: PD400 missing argument, all-zero id or text too long.$doc$;

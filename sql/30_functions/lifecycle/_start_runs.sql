-- Locks: agents of runs that owe wakes, then run rows by id.
create or replace function dispatch._start_runs(
    p_workspace_id uuid,
    p_reports dispatch._report[]
)
returns setof dispatch.transition
language plpgsql
volatile
parallel unsafe
rows 10
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_runs constant uuid[] := array(select p.run_id from unnest(p_reports) as p);
    v_locked uuid[];
    v_now timestamptz;
begin
    perform dispatch._lock_owing_agents(p_workspace_id, v_runs);
    v_locked := dispatch._lock_runs(
        p_workspace_id, p_reports, '{dispatched,waiting_local_directory}'
    );
    v_now := dispatch.clock();
    update dispatch.run as r
    set status = 'running', started_at = v_now, lease_expires_at = v_now + p.lease
    from dispatch._first_reports(p_reports) as p
    where r.workspace_id = p_workspace_id and r.id = any(v_locked) and r.id = p.run_id;
    perform dispatch._settle_owed(p_workspace_id, v_locked);
    return query
    select
        t.applied, t.run_id, t.status, t.claim_no, t.retry_run_id, t.reason, t.follow_up_run_id
    from dispatch._transitions(p_workspace_id, p_reports, v_locked, null) as t;
end;
$fn$;

comment on function dispatch._start_runs(uuid, dispatch._report[]) is
$doc$Move claimed runs to running and queue follow-ups for what came too late for their claims.

Returns a transition a report, in the order given.
Errors: none.$doc$;

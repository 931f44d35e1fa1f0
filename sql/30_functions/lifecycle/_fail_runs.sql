-- Locks: the runs' issues and agents first, for the retries and follow-ups, then run rows by
-- id. The plan settings hold for everything that this function calls: a plan made while the
-- tables are empty is kept, and must walk the same indexes as one made over a million rows.
create or replace function dispatch._fail_runs(
    p_workspace_id uuid,
    p_reports dispatch._report[],
    p_statuses dispatch.run_status[] default '{dispatched,waiting_local_directory,running}'
)
returns setof dispatch.transition
language plpgsql
volatile
parallel unsafe
rows 10
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_material = off
set jit = off
as $fn$
declare
    v_locked uuid[];
    v_report record;
    v_runtime uuid;
    v_runtimes uuid[];
    v_was_claimed boolean;
    v_now timestamptz;
begin
    perform dispatch._lock_run_owners(
        p_workspace_id, array(select p.run_id from unnest(p_reports) as p)
    );
    v_locked := dispatch._lock_runs(p_workspace_id, p_reports, p_statuses);
    v_now := dispatch.clock();
    for v_report in
        select
            p.run_id, p.claim_no, p.failure_reason, p.error, p.session_id, p.work_dir,
            p.session_lost
        from dispatch._first_reports(p_reports) as p
        where p.run_id = any(v_locked)
    loop
        update dispatch.run as r
        set status = 'failed', finished_at = v_now, lease_expires_at = null
        where r.workspace_id = p_workspace_id
            and r.id = v_report.run_id
            and r.claim_no = v_report.claim_no
        returning r.runtime_id, r.dispatched_at is not null into v_runtime, v_was_claimed;
        continue when not found;
        v_runtimes := v_runtimes || v_runtime;
        update dispatch.run_detail as d
        set
            failure_reason = coalesce(v_report.failure_reason, 'agent_error'),
            error = dispatch._cut_text(v_report.error, dispatch.error_limit()),
            session_id = case
                when not v_report.session_lost then coalesce(v_report.session_id, d.session_id)
            end,
            work_dir = coalesce(v_report.work_dir, d.work_dir)
        where d.workspace_id = p_workspace_id and d.run_id = v_report.run_id;
        -- A run that nobody had in hand owes nothing: what it stood for ends with it.
        if not dispatch._queue_retry(p_workspace_id, v_report.run_id, v_now) and v_was_claimed
        then
            perform dispatch._settle_owed(p_workspace_id, array[v_report.run_id]);
        end if;
    end loop;
    perform dispatch._notify_runtimes(array(select distinct u from unnest(v_runtimes) as u));
    return query
    select
        t.applied, t.run_id, t.status, t.claim_no, t.retry_run_id, t.reason, t.follow_up_run_id
    from dispatch._transitions(p_workspace_id, p_reports, v_locked, 'failed') as t;
end;
$fn$;

comment on function dispatch._fail_runs(
    uuid, dispatch._report[], dispatch.run_status[]
) is
$doc$Move runs in one of p_statuses (left out: active ones) to failed, keep why, and queue their
retries, or follow-ups for what they owe.

A run that fails in the queue, or before its time, takes its wakes with it, as a cancelled one.
Returns a transition a report, in the order given.
Errors: as _admit_wakes.$doc$;

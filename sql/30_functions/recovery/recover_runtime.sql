-- Locks: agents through _fail_runs, then run rows by id. The runs are found by the index of
-- active lanes: there are never more of them than the agents' capacities allow.
create or replace function dispatch.recover_runtime(p_workspace_id uuid, p_runtime_id uuid)
returns setof dispatch.transition
language plpgsql
volatile
parallel unsafe
rows 10
security definer
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_reports dispatch._report[];
begin
    perform dispatch._check_isolation();
    perform dispatch._check_ids(
        array['p_workspace_id', 'p_runtime_id'], array[p_workspace_id, p_runtime_id]
    );
    v_reports := array(
        select row(
            row_number() over (order by r.id), r.id, r.claim_no, null, 'runtime_recovery',
            'the daemon restarted', null, null, false, null
        )::dispatch._report
        from dispatch.run as r
        where r.workspace_id = p_workspace_id
            and r.runtime_id = p_runtime_id
            and r.status in ('dispatched', 'waiting_local_directory', 'running')
    );
    return query
    select
        t.applied, t.run_id, t.status, t.claim_no, t.retry_run_id, t.reason, t.follow_up_run_id
    from dispatch._fail_runs(p_workspace_id, v_reports) as t;
end;
$fn$;

comment on function dispatch.recover_runtime(uuid, uuid) is
$doc$Fail and retry what a runtime had in hand when its daemon went down: one row a run.

Called by a daemon that starts, before it claims. Dispatched, waiting and running runs of the
runtime fail with runtime_recovery, each with its retry where it gets one; queued runs and other
runtimes are left alone. An unknown or foreign runtime is no rows. Rule: issue-to-run 4.
Errors: PD400 missing or all-zero id, or a transaction stricter than READ COMMITTED (COLUMN
transaction_isolation).$doc$;

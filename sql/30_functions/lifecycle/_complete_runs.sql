-- Locks: run rows by id.
create or replace function dispatch._complete_runs(
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
    v_locked uuid[];
    v_runtimes uuid[];
    v_now timestamptz;
begin
    v_locked := dispatch._lock_runs(p_workspace_id, p_reports, '{running}');
    v_now := dispatch.clock();
    if cardinality(v_locked) > 0 then
        with moved as (
            update dispatch.run as r
            set status = 'completed', finished_at = v_now, lease_expires_at = null
            where r.workspace_id = p_workspace_id and r.id = any(v_locked)
            returning r.runtime_id
        )
        select array_agg(distinct m.runtime_id) into v_runtimes from moved as m;
        update dispatch.run_detail as d
        set
            result = p.result,
            session_id = case when not p.session_lost then p.session_id end,
            work_dir = p.work_dir
        from dispatch._first_reports(p_reports) as p
        where d.workspace_id = p_workspace_id
            and d.run_id = any(v_locked)
            and d.run_id = p.run_id
            and num_nonnulls(
                p.result, p.session_id, p.work_dir, d.session_id, d.work_dir
            ) > 0;
        perform dispatch._notify_runtimes(v_runtimes);
    end if;
    return query
    select
        t.applied, t.run_id, t.status, t.claim_no, t.retry_run_id, t.reason, t.follow_up_run_id
    from dispatch._transitions(p_workspace_id, p_reports, v_locked, 'completed') as t;
end;
$fn$;

comment on function dispatch._complete_runs(uuid, dispatch._report[]) is
$doc$Move running runs to completed and keep what they reported.

A run without result, session and work directory writes no detail. Returns a transition a
report, in the order given.
Errors: none.$doc$;

-- Locks: issues and agents of runs that owe wakes, then run rows by id. Only a run that was
-- claimed and started in one step can still owe any here: those that its claim had no room for.
-- The plan settings hold for everything that this function calls: a plan made while the tables
-- are empty is kept, and must walk the same indexes as one made over a million rows.
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
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_material = off
set jit = off
as $fn$
declare
    v_owing uuid[];
    v_locked uuid[];
    v_report record;
    v_runtime uuid;
    v_runtimes uuid[];
    v_now timestamptz;
begin
    v_owing := dispatch._lock_owing(
        p_workspace_id, array(select p.run_id from unnest(p_reports) as p)
    );
    v_locked := dispatch._lock_runs(p_workspace_id, p_reports, '{running}');
    v_now := dispatch.clock();
    for v_report in
        select p.run_id, p.claim_no, p.result, p.session_id, p.work_dir, p.session_lost
        from dispatch._first_reports(p_reports) as p
        where p.run_id = any(v_locked)
    loop
        update dispatch.run as r
        set status = 'completed', finished_at = v_now, lease_expires_at = null
        where r.workspace_id = p_workspace_id
            and r.id = v_report.run_id
            and r.claim_no = v_report.claim_no
        returning r.runtime_id into v_runtime;
        continue when not found;
        v_runtimes := v_runtimes || v_runtime;
        update dispatch.run_detail as d
        set
            result = v_report.result,
            session_id = case when not v_report.session_lost then v_report.session_id end,
            work_dir = v_report.work_dir
        where d.workspace_id = p_workspace_id
            and d.run_id = v_report.run_id
            and num_nonnulls(
                v_report.result, v_report.session_id, v_report.work_dir, d.session_id,
                d.work_dir
            ) > 0;
    end loop;
    perform dispatch._notify_runtimes(array(select distinct u from unnest(v_runtimes) as u));
    if cardinality(v_owing) > 0 then
        perform dispatch._settle_owed(p_workspace_id, v_locked);
    end if;
    if cardinality(v_locked) = cardinality(p_reports) then
        return query
        select
            true, p.run_id, 'completed'::dispatch.run_status, p.claim_no, null::uuid,
            null::text, d.follow_up_run_id
        from unnest(p_reports) as p
        cross join lateral (
            select s.follow_up_run_id
            from dispatch.run_detail as s
            where s.workspace_id = p_workspace_id and s.run_id = p.run_id
            limit 1
        ) as d
        order by p.ord;
        return;
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

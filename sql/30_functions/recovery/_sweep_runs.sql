-- Locks: the candidates' issues and agents, then their rows, skip locked and rechecked: a run
-- whose lease was extended meanwhile is no candidate any more. Several sweeps at once share the
-- work.
create or replace function dispatch._sweep_runs(
    p_workspace_id uuid,
    p_sweep text,
    p_max integer
)
returns integer
language plpgsql
volatile
parallel unsafe
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
    v_now timestamptz := dispatch.clock();
    v_reports dispatch._report[];
    v_held uuid[] := '{}'::uuid[];
    v_report dispatch._report;
    v_count integer;
begin
    v_reports := array(
        select c from dispatch._sweep_candidates(p_workspace_id, p_sweep, p_max, v_now) as c
    );
    if cardinality(v_reports) = 0 then
        return 0;
    end if;
    perform dispatch._lock_run_owners(
        p_workspace_id, array(select r.run_id from unnest(v_reports) as r)
    );
    for v_report in
        select
            r.ord, r.run_id, r.claim_no, r.result, r.failure_reason, r.error, r.session_id,
            r.work_dir, r.session_lost, r.lease
        from unnest(v_reports) as r
        order by r.run_id
    loop
        if dispatch._try_lock_run(
            p_workspace_id, v_report.run_id,
            '{deferred,queued,dispatched,waiting_local_directory,running}'
        ) then
            v_held := v_held || v_report.run_id;
        end if;
    end loop;
    v_now := dispatch.clock();
    v_reports := array(
        select c
        from dispatch._sweep_candidates(p_workspace_id, p_sweep, p_max, v_now) as c
        where c.run_id = any(v_held)
    );
    select count(*)::integer
    into v_count
    from dispatch._fail_runs(
        p_workspace_id, v_reports,
        '{deferred,queued,dispatched,waiting_local_directory,running}'
    ) as t
    where t.applied;
    return v_count;
end;
$fn$;

comment on function dispatch._sweep_runs(uuid, text, integer) is
$doc$End up to p_max runs of a workspace that a sweep finds, each with its retry; returns how
many.

Errors: as _admit_wakes.$doc$;

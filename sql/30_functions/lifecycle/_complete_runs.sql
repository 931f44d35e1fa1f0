-- Locks: issues and agents of runs that owe wakes, then run rows by id. Only a run that was
-- claimed and started in one step can still owe any here: those that its claim had no room for.
-- The plan settings hold for everything that this function calls: a plan made while the tables
-- are empty is kept, and must walk the same indexes as one made over a million rows.
create or replace function dispatch._complete_runs(
    p_workspace_id uuid,
    p_reports dispatch._report[]
)
returns dispatch.transition[]
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
    v_owing uuid[];
    v_locked uuid[];
    v_runtimes uuid[];
begin
    v_owing := dispatch._lock_owing(
        p_workspace_id, array(select p.run_id from unnest(p_reports) as p)
    );
    v_locked := dispatch._lock_runs(p_workspace_id, p_reports, '{running}');
    if cardinality(v_locked) > 0 then
        v_runtimes := dispatch._move_runs(
            p_workspace_id, v_locked, 'completed', false, null, dispatch.clock()
        );
        perform dispatch._keep_results(p_workspace_id, p_reports, v_locked);
        perform dispatch._notify_runtimes(v_runtimes);
        if cardinality(v_owing) > 0 then
            perform dispatch._settle_owed(p_workspace_id, v_locked);
        end if;
    end if;
    return dispatch._answer_reports(
        p_workspace_id, p_reports, v_locked, 'completed', 'completed'
    );
end;
$fn$;

comment on function dispatch._complete_runs(uuid, dispatch._report[]) is
$doc$Move running runs to completed and keep what they reported.

A run without result, session and work directory writes no detail. Returns a transition a
report, in the order given.
Errors: none.$doc$;

-- The plan settings hold for everything that this function calls: a plan made while the tables
-- are empty is kept, and must walk the same indexes as one made over a million rows.
create or replace function dispatch.reclaim_runs(
    p_workspace_id uuid,
    p_runtime_ids uuid[],
    p_max integer default 1
)
returns setof dispatch.claimed_run
language plpgsql
volatile
parallel unsafe
rows 10
security definer
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
    v_max constant integer := least(p_max, dispatch.claim_batch_limit());
    v_known uuid[];
    v_reclaimed uuid[];
    v_now timestamptz;
begin
    perform dispatch._check_isolation();
    perform dispatch._check_ids(array['p_workspace_id'], array[p_workspace_id]);
    perform dispatch._check_count('p_max', p_max);
    v_known := dispatch._known_runtimes(p_workspace_id, p_runtime_ids);
    if v_max = 0 or cardinality(v_known) = 0 then
        return;
    end if;
    v_now := dispatch.clock();
    v_reclaimed := dispatch._reclaim_stale(
        p_workspace_id, dispatch._fresh_runtimes(p_workspace_id, v_known, v_now), v_max,
        dispatch.prepare_lease(), v_now
    );
    return query
    select
        c.run_id, c.workspace_id, c.agent_id, c.runtime_id, c.issue_id, c.chat_session_id,
        c.autopilot_run_id, c.claim_no, c.attempt, c.priority, c.reason, c.payload, c.triggers,
        c.requested_at, c.dispatched_at, c.lease_expires_at, c.originator_id, c.accountable_id,
        c.attribution_source, c.is_leader_run, c.squad_id, c.handoff_note, c.session_id,
        c.work_dir, c.reclaimed
    from dispatch._claimed_rows(p_workspace_id, v_reclaimed, v_reclaimed) as c;
end;
$fn$;

comment on function dispatch.reclaim_runs(uuid, uuid[], integer) is
$doc$Hand out again the runs of these runtimes whose claim was never confirmed.

A dispatched run is handed out again once its claim is older than 90 s and no lease of it lives;
it stays dispatched and gets the next claim number. p_runtime_ids must belong to one daemon;
unknown and stale ones are skipped. At most p_max runs, clamped to 256. Rule: issue-to-run 4.
Errors: PD400 missing argument, negative p_max, runtimes of two daemons, or a transaction
stricter than READ COMMITTED (COLUMN transaction_isolation).$doc$;

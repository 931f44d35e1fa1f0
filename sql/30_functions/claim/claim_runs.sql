-- The plan settings hold for everything that this function calls: a plan made while the tables
-- are empty is kept, and must walk the same indexes as one made over a million rows.
create or replace function dispatch.claim_runs(
    p_workspace_id uuid,
    p_runtime_ids uuid[],
    p_max integer default 1,
    p_per_agent integer default 1,
    p_start boolean default false,
    p_lease interval default null
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
set enable_sort = off
set jit = off
as $fn$
declare
    v_max constant integer := least(p_max, dispatch.claim_batch_limit());
    v_claimed uuid[];
    v_reclaimed uuid[];
begin
    perform dispatch._check_claim(
        p_workspace_id, p_runtime_ids, p_max, p_per_agent, p_start, p_lease
    );
    if v_max = 0 then
        return;
    end if;
    select c.claimed, c.reclaimed
    into v_claimed, v_reclaimed
    from dispatch._claim(
        p_workspace_id, p_runtime_ids, null, v_max, p_per_agent, p_start, p_lease
    ) as c;
    if cardinality(v_claimed) + cardinality(v_reclaimed) = 0 then
        return;
    end if;
    return query
    select
        c.run_id, c.workspace_id, c.agent_id, c.runtime_id, c.issue_id, c.chat_session_id,
        c.autopilot_run_id, c.claim_no, c.attempt, c.priority, c.reason, c.payload, c.triggers,
        c.requested_at, c.dispatched_at, c.lease_expires_at, c.originator_id, c.accountable_id,
        c.attribution_source, c.is_leader_run, c.squad_id, c.handoff_note, c.session_id,
        c.work_dir, c.reclaimed
    from dispatch._claimed_rows(p_workspace_id, v_claimed || v_reclaimed, v_reclaimed) as c;
    if p_start then
        perform dispatch._settle_claimed(p_workspace_id, v_claimed);
    end if;
end;
$fn$;

comment on function dispatch.claim_runs(uuid, uuid[], integer, integer, boolean, interval) is
$doc$Hand a daemon the next runs of its runtimes.

First queues deferred runs that are due, then hands out again claims that were never confirmed,
then claims queued runs: by priority, then request, then id, within each agent's capacity, one
active run a lane. p_runtime_ids must belong to one daemon; unknown ones are skipped, and so are
runtimes that are not fresh, agents that are not active and a paused workspace. p_max counts all
runs returned and is clamped to 256; p_per_agent bounds the newly claimed runs of one agent.
p_start moves them straight to running, for daemons that prepare nothing; those handed out again
come dispatched all the same. p_lease is how long the claim is protected until start (default 45
s), or, with p_start, how long the run counts as alive without extend_lease (default: as long as
its runtime). The call returns all that it moved, or raises and moved nothing. Rule:
issue-to-run 4.
Errors: PD400 missing or malformed argument, lease out of range, runtimes of two daemons, or a
transaction stricter than READ COMMITTED (COLUMN transaction_isolation).$doc$;

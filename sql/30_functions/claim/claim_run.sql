-- The plan settings hold for everything that this function calls: a plan made while the tables
-- are empty is kept, and must walk the same indexes as one made over a million rows.
create or replace function dispatch.claim_run(
    p_workspace_id uuid,
    p_agent_id uuid,
    p_runtime_id uuid default null
)
returns setof dispatch.claimed_run
language plpgsql
volatile
parallel unsafe
rows 1
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
    v_runtime uuid := p_runtime_id;
    v_claimed uuid[];
begin
    perform dispatch._check_isolation();
    perform dispatch._check_ids(
        array['p_workspace_id', 'p_agent_id'], array[p_workspace_id, p_agent_id]
    );
    perform dispatch._check_optional_ids(array['p_runtime_id'], array[p_runtime_id]);
    if v_runtime is null then
        select a.runtime_id
        into v_runtime
        from dispatch.agent as a
        where a.workspace_id = p_workspace_id and a.id = p_agent_id;
    end if;
    if v_runtime is null then
        return;
    end if;
    select c.claimed
    into v_claimed
    from dispatch._claim(
        p_workspace_id, array[v_runtime], p_agent_id, 1, 1, false, null
    ) as c;
    if v_claimed = '{}' then
        return;
    end if;
    return query
    select
        c.run_id, c.workspace_id, c.agent_id, c.runtime_id, c.issue_id, c.chat_session_id,
        c.autopilot_run_id, c.claim_no, c.attempt, c.priority, c.reason, c.payload, c.triggers,
        c.requested_at, c.dispatched_at, c.lease_expires_at, c.originator_id, c.accountable_id,
        c.attribution_source, c.is_leader_run, c.squad_id, c.handoff_note, c.session_id,
        c.work_dir, c.reclaimed
    from dispatch._claimed_rows(p_workspace_id, v_claimed, '{}') as c;
end;
$fn$;

comment on function dispatch.claim_run(uuid, uuid, uuid) is
$doc$Hand out the next queued run of one agent: one row, or none.

p_runtime_id is where it shall execute, left NULL the runtime that the agent is bound to.
Neither promotes nor reclaims. No rows for an unknown agent or runtime, an agent at its capacity
or not active, a runtime that is not fresh, or a paused workspace. Rule: issue-to-run 4.
Errors: PD400 missing or all-zero id, or a transaction stricter than READ COMMITTED (COLUMN
transaction_isolation).$doc$;

-- The plan settings hold for everything that this function calls: a plan made while the tables
-- are empty is kept, and must walk the same indexes as one made over a million rows.
create or replace function dispatch._claim(
    p_workspace_id uuid,
    p_runtime_ids uuid[],
    p_agent_id uuid,
    p_max integer,
    p_per_agent integer,
    p_is_started boolean,
    p_lease interval
)
returns setof dispatch.claimed_run
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
set enable_sort = off
set jit = off
as $fn$
declare
    v_agents uuid[];
    v_due uuid[] := '{}'::uuid[];
    v_reclaimed uuid[] := '{}'::uuid[];
    v_claimed uuid[] := '{}'::uuid[];
    v_lease constant interval := case
        when p_is_started then p_lease else coalesce(p_lease, dispatch.prepare_lease())
    end;
    v_now timestamptz := dispatch.clock();
    v_look record;
begin
    v_look := dispatch._look_at_runtimes(p_workspace_id, p_runtime_ids, v_now);
    if v_look.daemons > 1 then
        perform dispatch._raise(
            'PD400', 'runtimes of two daemons', 'p_runtime_ids',
            'name the runtimes of one daemon in one call.'
        );
    elsif cardinality(v_look.fresh) = 0 then
        return;
    elsif p_agent_id is not null then
        v_agents := array[p_agent_id];
    else
        if v_look.has_due then
            v_due := dispatch._due_agents(p_workspace_id, v_look.fresh, v_now, 500);
        end if;
        if cardinality(v_due) > 0 then
            perform dispatch._lock_claim_agents(p_workspace_id, v_due, true);
            v_now := dispatch.clock();
            perform dispatch._promote_due(p_workspace_id, v_look.fresh, v_due, 500, v_now);
        end if;
        if v_look.has_stale then
            v_reclaimed := dispatch._reclaim_stale(
                p_workspace_id, v_look.fresh, p_max,
                case when p_is_started then dispatch.prepare_lease() else v_lease end, v_now
            );
        end if;
        v_agents := array(
            select distinct c.agent_id
            from dispatch._claim_pairs(p_workspace_id, v_look.fresh) as c
        );
    end if;
    if cardinality(v_reclaimed) < p_max and cardinality(v_agents) > 0 then
        v_claimed := dispatch._claim_agents(
            p_workspace_id, v_look.fresh, v_agents, cardinality(v_due) > 0,
            p_max - cardinality(v_reclaimed), p_per_agent, p_is_started, v_lease
        );
    end if;
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
    if p_is_started then
        perform dispatch._settle_claimed(p_workspace_id, v_claimed);
    end if;
end;
$fn$;

comment on function dispatch._claim(uuid, uuid[], uuid, integer, integer, boolean, interval) is
$doc$Promote, reclaim and claim for a machine, or (p_agent_id given) claim for one agent only.

Arguments were checked by the caller, but not that the runtimes are of one daemon.
Errors: PD400 runtimes of two daemons.$doc$;

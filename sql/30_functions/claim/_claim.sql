-- Locks: agents by id where something is to be promoted, then what _claim_queued locks.
create or replace function dispatch._claim(
    p_workspace_id uuid,
    p_runtime_ids uuid[],
    p_agent_id uuid,
    p_max integer,
    p_per_agent integer,
    p_is_started boolean,
    p_lease interval,
    out claimed uuid[],
    out reclaimed uuid[]
)
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_now timestamptz := dispatch.clock();
    v_fresh uuid[];
    v_has_due boolean;
    v_has_stale boolean;
    v_due uuid[] := '{}'::uuid[];
begin
    claimed := '{}'::uuid[];
    reclaimed := '{}'::uuid[];
    select l.fresh, l.has_due, l.has_stale
    into v_fresh, v_has_due, v_has_stale
    from dispatch._look_at_runtimes(p_workspace_id, p_runtime_ids, v_now) as l;
    if v_fresh = '{}' then
        return;
    end if;
    if p_agent_id is null and v_has_due then
        v_due := dispatch._due_agents(p_workspace_id, v_fresh, v_now, 500);
        if cardinality(v_due) > 0 then
            perform dispatch._lock_claim_agents(p_workspace_id, v_due, true);
            v_now := dispatch.clock();
            perform dispatch._promote_due(p_workspace_id, v_fresh, v_due, 500, v_now);
        end if;
    end if;
    if p_agent_id is null and v_has_stale then
        reclaimed := dispatch._reclaim_stale(
            p_workspace_id, v_fresh, p_max,
            case
                when p_is_started then dispatch.prepare_lease()
                else coalesce(p_lease, dispatch.prepare_lease())
            end,
            v_now
        );
    end if;
    if cardinality(reclaimed) < p_max then
        claimed := dispatch._claim_queued(
            p_workspace_id, v_fresh, p_agent_id, cardinality(v_due) > 0,
            p_max - cardinality(reclaimed), p_per_agent, p_is_started,
            case
                when p_is_started then p_lease else coalesce(p_lease, dispatch.prepare_lease())
            end
        );
    end if;
end;
$fn$;

comment on function dispatch._claim(uuid, uuid[], uuid, integer, integer, boolean, interval) is
$doc$Promote, reclaim and claim for a machine, or (p_agent_id given) claim for one agent only.

Returns the newly claimed runs and those handed out again. Arguments were checked by the caller,
but not that the runtimes are of one daemon.
Errors: PD400 runtimes of two daemons.$doc$;

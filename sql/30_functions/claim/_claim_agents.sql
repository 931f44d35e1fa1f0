-- Locks: agents, then run rows. Only the agents whose runs are best are locked, and of those
-- first the ones that nobody holds: claimers of one machine then serve different agents instead
-- of queueing up behind the first. Such a lock never waits. Only a call that holds no agent at
-- all waits for those that others hold, by id, so no two claims wait for each other. What was
-- guessed without locks is decided anew in the statement after them, as are the pause and the
-- freshness of the runtimes.
create or replace function dispatch._claim_agents(
    p_workspace_id uuid,
    p_runtime_ids uuid[],
    p_agent_ids uuid[],
    p_is_holding boolean,
    p_max integer,
    p_per_agent integer,
    p_is_started boolean,
    p_lease interval
)
returns uuid[]
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_open uuid[] := p_agent_ids;
    v_wanted uuid[];
    v_missed uuid[] := '{}'::uuid[];
    v_held uuid[];
    v_is_holding boolean := p_is_holding;
    v_claimed uuid[] := '{}'::uuid[];
begin
    loop
        v_wanted := array(
            select distinct e.agent_id
            from dispatch._eligible_runs(
                p_workspace_id, p_runtime_ids, v_open, p_max - cardinality(v_claimed),
                p_per_agent
            ) as e
        );
        exit when cardinality(v_wanted) = 0;
        v_held := dispatch._try_lock_agents(p_workspace_id, v_wanted);
        if cardinality(v_held) > 0 then
            v_is_holding := true;
            v_claimed := v_claimed || dispatch._claim_held(
                p_workspace_id, p_runtime_ids, v_held, p_max - cardinality(v_claimed),
                p_per_agent, p_is_started, p_lease
            );
        end if;
        v_missed := v_missed || array(
            select w.id from unnest(v_wanted) as w (id) where not w.id = any(v_held)
        );
        v_open := array(
            select o.id from unnest(v_open) as o (id) where not o.id = any(v_wanted)
        );
        exit when cardinality(v_claimed) >= p_max or cardinality(v_open) = 0;
    end loop;
    if cardinality(v_missed) > 0 and not v_is_holding then
        perform dispatch._lock_claim_agents(p_workspace_id, v_missed, false);
        v_claimed := dispatch._claim_held(
            p_workspace_id, p_runtime_ids, v_missed, p_max, p_per_agent, p_is_started, p_lease
        );
    end if;
    return v_claimed;
end;
$fn$;

comment on function dispatch._claim_agents(
    uuid, uuid[], uuid[], boolean, integer, integer, boolean, interval
) is
$doc$Claim up to p_max queued runs of these agents on those of the runtimes that are fresh.

p_is_holding says that the call holds agents already and must not wait for others. Agents that
another claim holds are left to it when this one gets anything else. Returns the runs.
Errors: none.$doc$;

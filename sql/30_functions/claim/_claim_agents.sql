-- Locks: agents, then run rows. Only the agents whose runs come first are locked, and of those
-- the ones that nobody holds: claimers of one machine then serve different agents instead of
-- queueing up behind the first. Such a lock never waits. Only a call that holds no agent at all
-- waits for those that others hold, by id, so no two claims wait for each other. What was
-- guessed before the locks is decided after them.
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
    v_is_waiting boolean := false;
    v_is_holding boolean := p_is_holding;
    v_runs uuid[];
    v_owners uuid[];
    v_wanted uuid[];
    v_held uuid[];
    v_missed uuid[] := '{}'::uuid[];
    v_claimed uuid[] := '{}'::uuid[];
begin
    loop
        select
            array_agg(e.run_id order by e.place), array_agg(e.agent_id order by e.place),
            array_agg(distinct e.agent_id)
        into v_runs, v_owners, v_wanted
        from dispatch._eligible_runs(
            p_workspace_id, p_runtime_ids, v_open, p_max - cardinality(v_claimed), p_per_agent
        ) with ordinality as e (run_id, agent_id, place);
        exit when v_runs is null;

        if v_is_waiting then
            v_held := v_wanted;
        else
            v_held := dispatch._try_lock_agents(p_workspace_id, v_wanted);
        end if;
        if cardinality(v_held) > 0 then
            v_is_holding := true;
            v_claimed := v_claimed || dispatch._take_runs(
                p_workspace_id, p_runtime_ids, v_runs, v_owners, v_held, p_is_started, p_lease
            );
        end if;
        v_missed := v_missed || array(
            select u.id from unnest(v_wanted) as u (id) where not u.id = any(v_held)
        );
        v_open := array(
            select u.id from unnest(v_open) as u (id) where not u.id = any(v_wanted)
        );
        exit when cardinality(v_claimed) >= p_max;

        if cardinality(v_open) = 0 then
            exit when v_is_holding or cardinality(v_missed) = 0;
            perform dispatch._lock_claim_agents(p_workspace_id, v_missed, false);
            v_is_waiting := true;
            v_open := v_missed;
            v_missed := '{}'::uuid[];
        end if;
    end loop;
    return v_claimed;
end;
$fn$;

comment on function dispatch._claim_agents(
    uuid, uuid[], uuid[], boolean, integer, integer, boolean, interval
) is
$doc$Claim up to p_max queued runs of these agents on those of the runtimes that are fresh.

p_is_holding says that the call holds agents already and must not wait for others. Agents that
another claim holds are left to it when this one holds any. Returns the runs in claim order.
Errors: none.$doc$;

-- Locks: agents, then run rows. Only the agents whose runs come first are locked, and of those
-- the ones that nobody holds: claimers of one machine then serve different agents instead of
-- queueing up behind the first. Only a call that holds no agent at all waits for those that
-- others hold, by id, so no two claims wait for each other. The head of the order is tried
-- first, a little more of it than is wanted; only where that does not do are all agents asked.
create or replace function dispatch._claim_queued(
    p_workspace_id uuid,
    p_runtime_ids uuid[],
    p_agent_id uuid,
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
    v_look constant integer := p_max + 8;
    v_runs uuid[];
    v_owners uuid[];
    v_open uuid[] := array[p_agent_id];
    v_agents uuid[] := '{}'::uuid[];
    v_free integer[] := '{}'::integer[];
    v_taken uuid[];
    v_claimed uuid[] := '{}'::uuid[];
    v_may_wait boolean := not p_is_holding;
begin
    if p_agent_id is null then
        select n.run_ids, n.agent_ids
        into v_runs, v_owners
        from dispatch._next_runs(p_workspace_id, p_runtime_ids, v_look) as n;
        if v_runs is null then
            return v_claimed;
        end if;
        select t.agents, t.free, t.taken
        into v_agents, v_free, v_claimed
        from dispatch._take_runs(
            p_workspace_id, p_runtime_ids, v_runs, v_owners, p_max, p_per_agent, v_agents,
            v_free
        ) as t;
        perform dispatch._mark_claimed(p_workspace_id, v_claimed, p_is_started, p_lease);
        v_open := '{}'::uuid[];
        if cardinality(v_claimed) < p_max and cardinality(v_runs) >= v_look then
            v_open := dispatch._waiting_agents(
                p_workspace_id, p_runtime_ids, v_agents, v_free
            );
        end if;
    end if;
    loop
        while cardinality(v_open) > 0 and cardinality(v_claimed) < p_max loop
            select array_agg(e.run_id order by e.place), array_agg(e.agent_id order by e.place)
            into v_runs, v_owners
            from dispatch._eligible_runs(
                p_workspace_id, p_runtime_ids, v_open, p_max - cardinality(v_claimed),
                p_per_agent
            ) with ordinality as e (run_id, agent_id, place);
            exit when v_runs is null;
            select t.agents, t.free, t.taken
            into v_agents, v_free, v_taken
            from dispatch._take_runs(
                p_workspace_id, p_runtime_ids, v_runs, v_owners,
                p_max - cardinality(v_claimed), p_per_agent, v_agents, v_free
            ) as t;
            perform dispatch._mark_claimed(p_workspace_id, v_taken, p_is_started, p_lease);
            v_claimed := v_claimed || v_taken;
            -- An agent stays while it has room, unless none of what was tried could be taken.
            v_open := array(
                select u.id
                from unnest(v_open) as u (id)
                left join unnest(v_agents, v_free) as s (agent_id, free) on s.agent_id = u.id
                where s.agent_id is null
                    or s.free > 0 and (v_taken <> '{}' or not u.id = any(v_owners))
            );
        end loop;
        exit when not v_may_wait or v_agents = '{}' or num_nonnulls(variadic v_free) > 0;
        perform dispatch._lock_claim_agents(p_workspace_id, v_agents, false);
        v_may_wait := false;
        v_open := v_agents;
        v_agents := '{}'::uuid[];
        v_free := '{}'::integer[];
    end loop;
    return v_claimed;
end;
$fn$;

comment on function dispatch._claim_queued(
    uuid, uuid[], uuid, boolean, integer, integer, boolean, interval
) is
$doc$Claim up to p_max queued runs of these runtimes, or of one agent on them.

p_is_holding says that the call holds agents already and must not wait for others. Agents that
another claim holds are left to it when this one holds any. Keeps each agent within its capacity
and p_per_agent. Returns the runs.
Errors: none.$doc$;

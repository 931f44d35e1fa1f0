-- Locks: agents FOR KEY SHARE, then runs, each by id. The instant is read once, after the
-- agents' locks, and stamps everything that is written or compared.
create or replace function dispatch._admit_wakes(p_workspace_id uuid, p_wakes dispatch.wake[])
returns setof dispatch.decision
language plpgsql
volatile
parallel unsafe
rows 10
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set jit = off
as $fn$
declare
    v_now timestamptz;
    v_candidates dispatch._candidate[];
    v_c dispatch._candidate;
    v_open dispatch._candidate[] := '{}'::dispatch._candidate[];
    v_round dispatch._candidate[];
    v_ruling dispatch._ruling;
    v_decision dispatch.decision;
    v_decisions dispatch.decision[] := '{}'::dispatch.decision[];
begin
    if cardinality(p_wakes) = 1 then
        perform dispatch._lock_agents(p_workspace_id, array[(p_wakes[1]).agent_id]);
    else
        perform dispatch._lock_agents(
            p_workspace_id, array(select w.agent_id from unnest(p_wakes) as w)
        );
    end if;
    v_now := dispatch.clock();
    v_candidates := dispatch._gate_wakes(p_workspace_id, p_wakes, v_now);
    foreach v_c in array v_candidates loop
        if v_c.code is null then
            v_open := v_open || v_c;
        else
            v_decisions[v_c.ord] := dispatch._blocked_decision(v_c.wake, v_c.code);
        end if;
    end loop;

    while cardinality(v_open) > 0 loop
        v_round := v_open;
        if cardinality(v_open) > 1 then
            v_round := dispatch._next_round(v_open);
        end if;
        foreach v_ruling in array dispatch._admit_round(p_workspace_id, v_round, v_now) loop
            v_decisions[v_ruling.ord] := v_ruling.decision;
        end loop;
        v_open := dispatch._without(v_open, v_round);
    end loop;

    foreach v_c in array v_candidates loop
        v_decision := v_decisions[v_c.ord];
        if v_decision.outcome in ('deduplicated', 'rate_limited', 'blocked') then
            perform dispatch._record_gate_event(
                p_workspace_id, v_now, v_decision.reason_code::text, v_c.wake,
                v_decision.run_id, v_decision.detail
            );
            if v_decision.reason_code = 'paused' then
                perform dispatch._remember_assignment(p_workspace_id, v_c.wake, v_now);
            end if;
        end if;
        return next v_decision;
    end loop;
end;
$fn$;

comment on function dispatch._admit_wakes(uuid, dispatch.wake[]) is
$doc$Take wakes through all gates, in the order given, and insert the runs of those that pass.

Returns one decision a wake in the same order; each wake sees the decisions before it. Gates:
agent, attribution, pause, duplicate, coalesce, pending slot, allowance, insert. Arguments were
checked by the caller; issue ids must be real and held by a lock.
Errors: PD409 the pending slot changed hands in four rounds.$doc$;

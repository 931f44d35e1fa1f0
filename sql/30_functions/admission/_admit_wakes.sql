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
    v_open dispatch._candidate[];
    v_round integer[];
    v_rulings dispatch._ruling[];
    v_event record;
begin
    perform dispatch._lock_agents(
        p_workspace_id, array(select distinct w.agent_id from unnest(p_wakes) as w)
    );
    v_now := dispatch.clock();
    v_candidates := array(
        select c from dispatch._gate_wakes(p_workspace_id, p_wakes, v_now) as c
    );
    v_rulings := array(
        select row(c.ord, dispatch._blocked_decision(c.wake, c.code))::dispatch._ruling
        from unnest(v_candidates) as c
        where c.code is not null
    );
    v_open := dispatch._without(v_candidates, v_rulings);

    while cardinality(v_open) > 1 loop
        v_round := dispatch._next_round(v_open);
        v_rulings := v_rulings || dispatch._admit_round(
            p_workspace_id,
            array(select c from unnest(v_open) as c where c.ord = any(v_round)),
            v_now
        );
        v_open := array(
            select c from unnest(v_open) as c where not c.ord = any(v_round) order by c.ord
        );
    end loop;
    if cardinality(v_open) = 1 then
        v_rulings := v_rulings || dispatch._admit_round(p_workspace_id, v_open, v_now);
    end if;

    for v_event in
        select c.wake, s.decision
        from unnest(v_rulings) as s
        inner join unnest(v_candidates) as c on c.ord = s.ord
        where (s.decision).outcome in ('deduplicated', 'rate_limited', 'blocked')
        order by s.ord
    loop
        perform dispatch._record_gate_event(
            p_workspace_id, v_now, (v_event.decision).reason_code::text, v_event.wake,
            (v_event.decision).run_id, (v_event.decision).detail
        );
        if (v_event.decision).reason_code = 'paused' then
            perform dispatch._remember_assignment(p_workspace_id, v_event.wake, v_now);
        end if;
    end loop;

    return query
    select
        (s.decision).outcome, (s.decision).reason_code, (s.decision).run_id,
        (s.decision).agent_id, (s.decision).source, (s.decision).detail
    from unnest(v_rulings) as s
    order by s.ord;
end;
$fn$;

comment on function dispatch._admit_wakes(uuid, dispatch.wake[]) is
$doc$Take wakes through all gates, in the order given, and insert the runs of those that pass.

Returns one decision a wake in the same order; each wake sees the decisions before it. Gates:
agent, attribution, pause, duplicate, coalesce, pending slot, allowance, insert. Arguments were
checked by the caller; issue ids must be real and held by a lock.
Errors: PD409 the pending slot changed hands in four rounds.$doc$;

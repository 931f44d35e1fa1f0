create or replace function dispatch._settle_wakes(
    p_workspace_id uuid,
    p_round dispatch._candidate[],
    p_now timestamptz
)
returns dispatch._ruling[]
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_rulings dispatch._ruling[] := '{}'::dispatch._ruling[];
    v_left dispatch._candidate[] := p_round;
    v_absorbed dispatch._ruling[];
    v_c record;
    v_duplicate uuid;
    v_verdict record;
begin
    for v_c in
        select c.ord, c.wake
        from unnest(p_round) as c
        where (c.wake).idempotency_key is not null
            and not coalesce('duplicate' = any((c.wake).skip), false)
        order by c.ord
    loop
        v_duplicate := dispatch._find_duplicate(
            p_workspace_id, (v_c.wake).idempotency_key, p_now
        );
        if v_duplicate is not null then
            v_rulings := v_rulings || row(
                v_c.ord,
                dispatch._duplicate_decision(
                    p_workspace_id, v_c.wake, v_duplicate, 'duplicate_recent'
                )
            )::dispatch._ruling;
        end if;
    end loop;
    if cardinality(v_rulings) > 0 then
        v_left := dispatch._without(v_left, v_rulings);
    end if;

    v_absorbed := dispatch._absorb_wakes(p_workspace_id, v_left, p_now);
    if cardinality(v_absorbed) > 0 then
        v_rulings := v_rulings || v_absorbed;
        v_left := dispatch._without(v_left, v_absorbed);
    end if;

    for v_c in
        select c.ord, c.wake
        from unnest(v_left) as c
        where (c.wake).reason = 'task_assigned'
            and (c.wake).fire_at is null
            and not coalesce('allowance' = any((c.wake).skip), false)
        order by c.ord
    loop
        v_verdict := dispatch._allowance_verdict(p_workspace_id, v_c.wake, p_now);
        if v_verdict.reason is not null and v_verdict.reason <> 'allowance_exhausted' then
            perform dispatch._record_gate_event(
                p_workspace_id, p_now, v_verdict.reason, v_c.wake, null, v_verdict.detail
            );
        elsif v_verdict.reason is not null then
            v_rulings := v_rulings || row(
                v_c.ord,
                row(
                    'rate_limited', 'allowance_exhausted', null, (v_c.wake).agent_id,
                    (v_c.wake).source, v_verdict.detail
                )::dispatch.decision
            )::dispatch._ruling;
        end if;
    end loop;
    return v_rulings;
end;
$fn$;

comment on function dispatch._settle_wakes(uuid, dispatch._candidate[], timestamptz) is
$doc$Take independent candidates through gates 4 to 7: duplicate, coalesce, pending slot,
allowance.

Returns the decisions of those that a gate settled; the others are to be inserted.
Errors: none.$doc$;

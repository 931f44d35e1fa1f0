-- The gates are asked one by one, each by the function by which admission asks it. An allowance
-- is asked for as if an agent had assigned, since people have none.
create or replace function dispatch._explain_gates(
    p_workspace_id uuid,
    p_wake dispatch.wake,
    p_run_id uuid,
    p_now timestamptz
)
returns setof dispatch.explanation
language plpgsql
volatile
parallel unsafe
rows 10
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_wake dispatch.wake := p_wake;
    v_gated dispatch._candidate[];
    v_codes dispatch.reason_code[];
    v_paused constant dispatch.reason_code := dispatch._pause_verdict(p_workspace_id);
    v_is_asked constant boolean := p_wake.agent_id is not null;
    v_recent uuid;
    v_old uuid;
    v_allowance text;
    v_count jsonb;
begin
    v_wake.skip := '{pause}';
    v_gated := dispatch._gate_wakes(p_workspace_id, array[v_wake], p_now);
    v_codes[1] := nullif(v_gated[1].code, 'attribution_blocked');
    v_wake.skip := '{agent,pause}';
    v_gated := dispatch._gate_wakes(p_workspace_id, array[v_wake], p_now);
    v_codes[2] := v_gated[1].code;
    v_wake.payload := v_wake.payload || '{"actor_type": "agent"}';
    select nullif(a.reason, 'count_read_failed'), a.detail
    into v_allowance, v_count
    from dispatch._allowance_verdict(p_workspace_id, v_wake, p_now) as a;
    if p_run_id is null then
        v_recent := dispatch._find_duplicate(p_workspace_id, p_wake.idempotency_key, p_now);
        select d.run_id
        into v_old
        from dispatch.run_detail as d
        where d.workspace_id = p_workspace_id and d.idempotency_key = p_wake.idempotency_key;
    else
        v_codes := array[
            case when v_codes[1] = 'agent_not_runnable' then v_codes[1] end, null
        ];
        v_allowance := null;
    end if;

    return query
    select
        g.step,
        case when v_is_asked or g.step = 'pause' then g.code is null end,
        case when v_is_asked or g.step = 'pause' then g.code::dispatch.reason_code end,
        case when v_is_asked then jsonb_strip_nulls(g.detail) else '{}' end
    from (
        values
            ('agent', v_codes[1]::text, jsonb_build_object('agent_id', p_wake.agent_id)),
            ('attribution', v_codes[2]::text, '{}'),
            ('pause', v_paused::text, '{}'),
            (
                'duplicate', case when v_recent is not null then 'duplicate_recent' end,
                jsonb_build_object('run_id', v_recent)
            ),
            ('coalesce', null, '{}'),
            ('pending_slot', null, jsonb_build_object('run_id', p_run_id)),
            ('allowance', v_allowance, coalesce(v_count, '{}')),
            (
                'insert',
                case when v_old is not null and v_recent is null then 'duplicate_key' end,
                jsonb_build_object('run_id', coalesce(p_run_id, v_old))
            )
    ) as g (step, code, detail);
end;
$fn$;

comment on function dispatch._explain_gates(uuid, dispatch.wake, uuid, timestamptz) is
$doc$Explain what the gates of admission say at p_now to the wake of an issue's assignment, in
their order.

p_run_id is the run that stands for the issue and its agent, if one does: it has passed the
gates, and only what a claim asks again can be in its way, the agent's status and the pause.
Without an agent in the wake only the pause is asked.
Errors: those of the gates' reads.$doc$;

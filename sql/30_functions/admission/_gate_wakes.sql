-- Judges wake by wake with look-ups by key, since a statement over rows as wide as a wake costs
-- more to set up than all the look-ups of a call. Gates 1 to 3 depend on no other wake of the
-- batch.
create or replace function dispatch._gate_wakes(
    p_workspace_id uuid,
    p_wakes dispatch.wake[],
    p_now timestamptz
)
returns dispatch._candidate[]
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_tick constant bigint := dispatch._uuid_tick();
    v_paused constant dispatch.reason_code := dispatch._pause_verdict(p_workspace_id);
    v_candidates dispatch._candidate[] := '{}'::dispatch._candidate[];
    v_policy text;
    v_wake dispatch.wake;
    v_agent uuid;
    v_fallback uuid;
    v_runtime uuid;
    v_status text;
    v_archived_at timestamptz;
    v_is_executable boolean;
    v_code dispatch.reason_code;
    v_human uuid;
    v_answering uuid;
    v_how text;
begin
    select s.attribution_policy
    into v_policy
    from dispatch.workspace as s
    where s.id = p_workspace_id;
    for v_i in 1..cardinality(p_wakes) loop
        v_wake := p_wakes[v_i];
        select
            g.id, g.runtime_id, g.status, g.archived_at,
            case when v_policy = 'owner_fallback' then g.owner_id end,
            coalesce(
                rt.status <> 'offline' or rt.offline_reason is distinct from 'not_executable',
                true
            )
        into v_agent, v_runtime, v_status, v_archived_at, v_fallback, v_is_executable
        from dispatch.agent as g
        left join lateral (
            select r.status, r.offline_reason
            from dispatch.runtime as r
            where r.workspace_id = p_workspace_id and r.id = g.runtime_id
            limit 1
        ) as rt on true
        where g.workspace_id = p_workspace_id and g.id = v_wake.agent_id;

        v_how := null;
        v_answering := null;
        if 'attribution' = any(v_wake.skip) then
            v_human := v_wake.originator_id;
            v_answering := v_wake.accountable_id;
            v_how := v_wake.attribution_source;
        elsif v_wake.actor_type = 'user' then
            v_human := v_wake.actor_id;
        elsif v_wake.actor_type = 'agent' then
            select d.originator_id, d.accountable_id
            into v_human, v_answering
            from dispatch.run_detail as d
            where d.workspace_id = p_workspace_id and d.run_id = v_wake.acting_run_id;
        else
            v_human := v_wake.originator_id;
        end if;
        if v_how is null then
            v_how := case
                when num_nonnulls(v_human, v_answering) > 0 then
                    case v_wake.actor_type when 'user' then 'direct_human' else 'delegation' end
                when v_fallback is not null then 'owner_fallback'
            end;
        end if;

        v_code := null;
        if v_wake.skip is null or not 'agent' = any(v_wake.skip) then
            v_code := dispatch._agent_verdict(
                v_agent is not null, v_archived_at is not null,
                v_runtime is not null, v_is_executable, v_status
            );
        end if;
        if v_code is null and v_how is null then
            v_code := 'attribution_blocked';
        elsif v_code is null and (v_wake.skip is null or not 'pause' = any(v_wake.skip)) then
            v_code := v_paused;
        end if;

        v_wake.payload := coalesce(v_wake.payload, '{}');
        v_wake.idempotency_key := nullif(v_wake.idempotency_key, '');
        v_wake.priority := coalesce(v_wake.priority, 0);
        v_wake.fire_at := case when v_wake.fire_at > p_now then v_wake.fire_at end;
        v_wake.coalesce := coalesce(v_wake.coalesce, true);
        v_wake.max_attempts := coalesce(v_wake.max_attempts, 2);
        v_wake.attempt := coalesce(v_wake.attempt, 1);
        v_wake.runtime_id := coalesce(v_wake.runtime_id, v_runtime);
        v_wake.originator_id := v_human;
        v_wake.accountable_id := coalesce(v_human, v_answering, v_fallback);
        v_wake.attribution_source := v_how;
        if v_wake.chat_session_id is not null then
            v_wake.evidence_kind := coalesce(v_wake.evidence_kind, 'chat');
            v_wake.evidence_id := coalesce(v_wake.evidence_id, v_wake.chat_session_id);
        end if;
        v_wake.delegated_from_run_id := coalesce(
            v_wake.delegated_from_run_id, v_wake.acting_run_id
        );
        v_wake.is_leader_run := coalesce(v_wake.is_leader_run, false);
        v_wake.force_fresh := coalesce(v_wake.force_fresh, false);
        v_candidates[v_i] := row(
            v_i, dispatch._uuid_v7(v_tick + v_i), v_code, v_wake
        )::dispatch._candidate;
    end loop;
    return v_candidates;
end;
$fn$;

comment on function dispatch._gate_wakes(uuid, dispatch.wake[], timestamptz) is
$doc$Judge wakes by gates 1 to 3 (agent, attribution, pause) and stamp who answers for each.

Returns one candidate a wake in the order given; code is NULL when none of the three blocks. A
wake that names a gate in skip passes it. fire_at stays only when it lies after p_now. Nobody
answers when no human acts, the acting run has none, and the workspace forbids the agent's owner
to stand in, has no known policy, or the agent has no owner. Rule: issue-to-run 8.
Errors: none.$doc$;

-- Gates 1 to 3 depend on no other wake of the batch, so they are one statement over all of it.
-- Each look-up is a lateral of one row: a plan that is made while the tables are empty is kept,
-- and would scan them for ever if it could join in another way.
create or replace function dispatch._gate_wakes(
    p_workspace_id uuid,
    p_wakes dispatch.wake[],
    p_now timestamptz
)
returns setof dispatch._candidate
language plpgsql
volatile
parallel unsafe
rows 10
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_tick constant bigint := dispatch._uuid_tick();
    v_paused constant dispatch.reason_code := dispatch._pause_verdict(p_workspace_id);
    v_policy constant text := (
        select s.attribution_policy from dispatch.workspace as s where s.id = p_workspace_id
    );
begin
    return query
    select
        w.ordinality::integer,
        dispatch._uuid_v7(v_tick + w.ordinality),
        coalesce(
            g.agent_code,
            case when h.how is null then 'attribution_blocked'::dispatch.reason_code end,
            case when not coalesce('pause' = any(w.skip), false) then v_paused end
        ),
        row(
            w.agent_id, w.reason, w.source, coalesce(w.payload, '{}'),
            nullif(w.idempotency_key, ''), w.issue_id, w.chat_session_id, w.autopilot_run_id,
            w.comment_id, coalesce(w.priority, 0),
            case when w.fire_at > p_now then w.fire_at end, coalesce(w.coalesce, true),
            coalesce(w.max_attempts, 2), coalesce(w.attempt, 1), g.bound_id, w.actor_type,
            w.actor_id, w.acting_run_id, g.human_id,
            coalesce(g.human_id, g.answering_id, g.fallback_id), h.how,
            coalesce(w.evidence_kind, case when w.chat_session_id is not null then 'chat' end),
            coalesce(w.evidence_id, w.chat_session_id),
            coalesce(w.delegated_from_run_id, w.acting_run_id), w.parent_run_id,
            w.rerun_of_run_id, w.escalation_for_run_id, w.squad_id,
            coalesce(w.is_leader_run, false), w.handoff_note, w.session_id, w.work_dir,
            coalesce(w.force_fresh, false), w.skip
        )::dispatch.wake
    from unnest(p_wakes) with ordinality as w
    left join lateral (
        select g.id, g.owner_id, g.runtime_id, g.status, g.archived_at
        from dispatch.agent as g
        where g.workspace_id = p_workspace_id and g.id = w.agent_id
        limit 1
    ) as a on true
    left join lateral (
        select g.status, g.offline_reason
        from dispatch.runtime as g
        where g.workspace_id = p_workspace_id and g.id = a.runtime_id
        limit 1
    ) as rt on true
    left join lateral (
        select g.originator_id, g.accountable_id
        from dispatch.run_detail as g
        where g.workspace_id = p_workspace_id and g.run_id = w.acting_run_id
        limit 1
    ) as d on true
    cross join lateral (
        select
            coalesce(w.runtime_id, a.runtime_id) as bound_id,
            case when not coalesce('agent' = any(w.skip), false) then dispatch._agent_verdict(
                a.id is not null, a.archived_at is not null, a.runtime_id is not null,
                coalesce(rt.status <> 'offline', true)
                or rt.offline_reason is distinct from 'not_executable',
                a.status
            ) end as agent_code,
            case
                when 'attribution' = any(w.skip) then w.originator_id
                when w.actor_type = 'user' then w.actor_id
                when w.actor_type = 'agent' then d.originator_id
                else w.originator_id
            end as human_id,
            case
                when 'attribution' = any(w.skip) then w.accountable_id
                when w.actor_type = 'agent' then d.accountable_id
            end as answering_id,
            case when v_policy = 'owner_fallback' then a.owner_id end as fallback_id
    ) as g
    cross join lateral (
        select coalesce(
            case when 'attribution' = any(w.skip) then w.attribution_source end,
            case
                when g.human_id is null and g.answering_id is null then null
                when w.actor_type = 'user' then 'direct_human'
                else 'delegation'
            end,
            case when g.fallback_id is not null then 'owner_fallback' end
        ) as how
    ) as h
    order by w.ordinality;
end;
$fn$;

comment on function dispatch._gate_wakes(uuid, dispatch.wake[], timestamptz) is
$doc$Judge wakes by gates 1 to 3 (agent, attribution, pause) and stamp who answers for each.

Returns one candidate a wake in the order given; code is NULL when none of the three blocks. A
wake that names a gate in skip passes it. fire_at stays only when it lies after p_now. Nobody
answers when no human acts, the acting run has none, and the workspace forbids the agent's owner
to stand in, has no known policy, or the agent has no owner. Rule: issue-to-run 8.
Errors: none.$doc$;

-- The run has just given up its pending slot in this transaction, so in nearly every case the
-- slot is free; where another run holds it, that run takes over what is owed.
create or replace function dispatch._queue_follow_up(p_workspace_id uuid, p_run_id uuid)
returns uuid
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_wake dispatch.wake;
    v_decision dispatch.decision;
begin
    select
        r.agent_id, d.reason, d.source,
        case
            when t.comment_id is not null and jsonb_typeof(d.payload) = 'object'
                then d.payload || jsonb_build_object('comment_id', t.comment_id)
            else d.payload
        end,
        null::text, r.issue_id, d.chat_session_id, d.autopilot_run_id, t.comment_id,
        r.priority, null::timestamptz, true, r.max_attempts, 1, r.runtime_id, t.actor_type,
        t.actor_id, null::uuid, t.originator_id, t.accountable_id, t.attribution_source,
        t.evidence_kind, t.evidence_id, t.delegated_from_run_id, null::uuid, null::uuid,
        null::uuid, d.squad_id, d.is_leader_run, null::text, null::text, null::text, false,
        array['agent', 'attribution', 'pause', 'duplicate', 'coalesce', 'allowance', 'record']
    into v_wake
    from dispatch.run as r
    inner join dispatch.run_detail as d
        on d.workspace_id = r.workspace_id and d.run_id = r.id
    inner join dispatch.run_trigger as t
        on t.workspace_id = r.workspace_id and t.run_id = r.id
    where r.workspace_id = p_workspace_id
        and d.workspace_id = p_workspace_id
        and t.workspace_id = p_workspace_id
        and r.id = p_run_id
        and t.count > t.delivered_count
    order by t.last_at desc, t.seq desc
    limit 1;
    if not found then
        return null;
    end if;
    select d.outcome, d.reason_code, d.run_id, d.agent_id, d.source, d.detail
    into v_decision
    from dispatch._admit_wakes(p_workspace_id, array[v_wake]) as d;
    if v_decision.outcome = 'absorbed' then
        perform dispatch._record_first_wake(p_workspace_id, v_decision.run_id);
    end if;
    perform dispatch._hand_over(p_workspace_id, p_run_id, v_decision.run_id, true);
    update dispatch.run_detail as d
    set follow_up_run_id = v_decision.run_id
    where d.workspace_id = p_workspace_id and d.run_id = p_run_id;
    return v_decision.run_id;
end;
$fn$;

comment on function dispatch._queue_follow_up(uuid, uuid) is
$doc$Queue one run for the wakes that came too late for this one, or append them to the run that
holds the slot; NULL when none is owed.

The follow-up keeps the run's reason and payload, which names the newest owed wake's comment if
that has one, and acts for that wake's originator.
Errors: as _admit_wakes.$doc$;

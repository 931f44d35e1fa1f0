create or replace function dispatch._kept_wake(
    p_workspace_id uuid,
    p_kept dispatch.run_trigger[]
)
returns dispatch.wake
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_first constant dispatch.run_trigger := p_kept[1];
    v_last constant dispatch.run_trigger := p_kept[cardinality(p_kept)];
    v_wake dispatch.wake;
begin
    select
        r.agent_id, r.issue_id, d.chat_session_id, r.priority, r.max_attempts,
        coalesce(a.runtime_id, r.runtime_id), d.squad_id, d.is_leader_run, d.handoff_note
    into
        v_wake.agent_id, v_wake.issue_id, v_wake.chat_session_id, v_wake.priority,
        v_wake.max_attempts, v_wake.runtime_id, v_wake.squad_id, v_wake.is_leader_run,
        v_wake.handoff_note
    from dispatch.run as r
    inner join dispatch.run_detail as d
        on d.workspace_id = r.workspace_id and d.run_id = r.id
    cross join lateral (
        select g.runtime_id
        from dispatch.agent as g
        where g.workspace_id = p_workspace_id and g.id = r.agent_id
        limit 1
    ) as a
    where r.workspace_id = p_workspace_id
        and d.workspace_id = p_workspace_id
        and r.id = v_last.run_id;
    v_wake.reason := v_first.reason;
    v_wake.source := v_first.source;
    v_wake.payload := case
        when v_last.comment_id is not null
            and v_first.reason = 'task_assigned'
            and jsonb_typeof(v_first.payload) = 'object'
            then v_first.payload || jsonb_build_object('comment_id', v_last.comment_id)
        else v_last.payload
    end;
    v_wake.comment_id := v_last.comment_id;
    v_wake.coalesce := false;
    v_wake.actor_type := v_first.actor_type;
    v_wake.actor_id := v_first.actor_id;
    v_wake.originator_id := v_last.originator_id;
    v_wake.accountable_id := v_last.accountable_id;
    v_wake.attribution_source := v_last.attribution_source;
    v_wake.evidence_kind := v_last.evidence_kind;
    v_wake.evidence_id := v_last.evidence_id;
    v_wake.delegated_from_run_id := v_last.delegated_from_run_id;
    v_wake.skip := array[
        'agent', 'attribution', 'pause', 'duplicate', 'coalesce', 'allowance', 'record'
    ];
    return v_wake;
end;
$fn$;

comment on function dispatch._kept_wake(uuid, dispatch.run_trigger[]) is
$doc$Make the wake of a run that stands for recorded wakes, given in order: asked for as the
first of them, with the payload and the attribution of the last, in the place of the run that
had that one.

Errors: none.$doc$;

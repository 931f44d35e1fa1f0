create or replace function dispatch._rerun_wake(
    p_workspace_id uuid,
    p_run_id uuid,
    p_actor_type text,
    p_actor_id uuid,
    p_acting_run_id uuid
)
returns dispatch.wake
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_wake dispatch.wake;
begin
    select
        r.agent_id, d.reason, 'rerun', d.payload, r.issue_id, d.chat_session_id, d.comment_id,
        r.priority, r.max_attempts, d.squad_id, d.is_leader_run, r.id, 'rerun', r.id
    into
        v_wake.agent_id, v_wake.reason, v_wake.source, v_wake.payload, v_wake.issue_id,
        v_wake.chat_session_id, v_wake.comment_id, v_wake.priority, v_wake.max_attempts,
        v_wake.squad_id, v_wake.is_leader_run, v_wake.rerun_of_run_id, v_wake.evidence_kind,
        v_wake.evidence_id
    from dispatch.run as r
    inner join dispatch.run_detail as d
        on d.workspace_id = r.workspace_id and d.run_id = r.id
    where r.workspace_id = p_workspace_id
        and d.workspace_id = p_workspace_id
        and r.id = p_run_id;
    v_wake.coalesce := false;
    v_wake.force_fresh := true;
    v_wake.actor_type := p_actor_type;
    v_wake.actor_id := p_actor_id;
    v_wake.acting_run_id := p_acting_run_id;
    v_wake.skip := array['duplicate', 'coalesce', 'allowance'];
    return v_wake;
end;
$fn$;

comment on function dispatch._rerun_wake(uuid, uuid, text, uuid, uuid) is
$doc$Make the wake that asks for a run's work once more; its agent is NULL when there is no such
run.

Errors: none.$doc$;

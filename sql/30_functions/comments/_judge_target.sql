-- The invoke gate comes before any state, so that the answer tells nothing to whom the agent is
-- not open. Only the guard comes before it: it speaks to the leader about itself.
create or replace function dispatch._judge_target(
    p_workspace_id uuid,
    p_comment dispatch.comment,
    p_target dispatch._target,
    p_actor_type text,
    p_originator_id uuid
)
returns dispatch._target
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_target dispatch._target := p_target;
    v_why text;
begin
    select t.agent_id, t.why
    into v_target.agent_id, v_why
    from dispatch._run_target(p_workspace_id, p_target.target_type, p_target.target_id) as t;
    if p_comment.author_type = 'agent' and p_target.target_type = 'squad' and exists (
        select from dispatch.squad as s
        where s.workspace_id = p_workspace_id
            and s.id = p_target.target_id
            and s.leader_id = p_comment.author_id
    ) then
        v_target := dispatch._self_trigger(p_workspace_id, p_comment.issue_id, v_target);
    end if;
    if v_target.code is not null then
        return v_target;
    elsif not dispatch._may_invoke(
        p_workspace_id, v_target.agent_id, p_actor_type, p_originator_id
    ) then
        v_target.code := 'invocation_not_allowed'::dispatch.reason_code;
        v_target.agent_id := null;
    elsif p_target.target_type = 'squad' then
        v_target.code := case v_why
            when 'squad_unavailable' then 'target_unavailable'::dispatch.reason_code
            when 'unbound' then 'agent_runtime_required'
            when 'runtime_unusable' then 'runtime_unusable'
            when 'leader_offline' then 'runtime_offline'
        end;
    end if;
    if p_target.is_dropped_quietly
        and (v_target.code is not null or v_why in ('archived', 'unbound'))
    then
        return null;
    end if;
    return v_target;
end;
$fn$;

comment on function dispatch._judge_target(
    uuid, dispatch.comment, dispatch._target, text, uuid
) is
$doc$Find the agent that would run a target's work, and settle the target where that cannot be;
NULL drops it.

invocation_not_allowed: the human at the top of the chain may not invoke the agent or the
squad's leader, or there is none. A squad needs a leader who could start at once:
target_unavailable, agent_runtime_required, runtime_unusable or runtime_offline. An agent's own
state is left to admission. Rule: dispatch 3.3.
Errors: none.$doc$;

-- The invoke gate comes first, so that the answer for an archived agent tells nothing to whom
-- it is not open. A squad is judged by its leader, who would run the work.
create or replace function dispatch._assignee_refusal(
    p_workspace_id uuid,
    p_name text,
    p_assignee_type text,
    p_assignee_id uuid,
    p_actor_type text,
    p_originator_id uuid
)
returns dispatch.reason_code
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_agent uuid := p_assignee_id;
    v_squad_archived_at timestamptz;
begin
    if p_assignee_type is null then
        return null;
    elsif p_assignee_type = 'member' then
        if not exists (
            select from dispatch.member as m
            where m.workspace_id = p_workspace_id and m.user_id = p_assignee_id
        ) then
            perform dispatch._raise(
                'PD400', 'assignee is no member', p_name, 'name a member of the workspace.'
            );
        end if;
        return null;
    elsif p_assignee_type = 'squad' then
        select s.leader_id, s.archived_at
        into v_agent, v_squad_archived_at
        from dispatch.squad as s
        where s.workspace_id = p_workspace_id and s.id = p_assignee_id;
    end if;
    if not dispatch._may_invoke(p_workspace_id, v_agent, p_actor_type, p_originator_id) then
        return 'invocation_not_allowed'::dispatch.reason_code;
    elsif v_squad_archived_at is not null or exists (
        select from dispatch.agent as a
        where a.workspace_id = p_workspace_id
            and a.id = v_agent
            and a.archived_at is not null
    ) then
        return 'target_unavailable'::dispatch.reason_code;
    end if;
    return null;
end;
$fn$;

comment on function dispatch._assignee_refusal(uuid, text, text, uuid, text, uuid) is
$doc$Give the code with which an assignee is refused; NULL when the issue may have it.

invocation_not_allowed: the human at the top of the chain may not invoke the agent or the
squad's leader, or there is none. target_unavailable: it may be invoked but is archived, squad
or agent. Nobody and members of the workspace pass.
Errors: PD400 assignee is no member, naming p_name.$doc$;

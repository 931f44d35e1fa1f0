-- Denies by default: an unknown permission, target type or user matches nothing.
create or replace function dispatch._may_invoke(
    p_workspace_id uuid,
    p_agent_id uuid,
    p_actor_type text,
    p_effective_user_id uuid
)
returns boolean
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_owner uuid;
    v_permission text;
begin
    select a.owner_id, a.permission
    into v_owner, v_permission
    from dispatch.agent as a
    where a.workspace_id = p_workspace_id and a.id = p_agent_id;
    if not found then
        return false;
    end if;
    if p_effective_user_id = v_owner then
        return true;
    end if;
    if v_permission is distinct from 'public_to' then
        return false;
    end if;
    return exists (
        select from dispatch.agent_grant as g
        where g.workspace_id = p_workspace_id
            and g.agent_id = p_agent_id
            and (
                (
                    g.target_type = 'workspace'
                    and (
                        p_actor_type in ('agent', 'system')
                        or exists (
                            select from dispatch.member as m
                            where m.workspace_id = p_workspace_id
                                and m.user_id = p_effective_user_id
                        )
                    )
                )
                or (g.target_type = 'member' and g.target_id = p_effective_user_id)
                or (
                    g.target_type = 'team'
                    and exists (
                        select from dispatch.team_member as t
                        where t.workspace_id = p_workspace_id
                            and t.team_id = g.target_id
                            and t.user_id = p_effective_user_id
                    )
                )
            )
    );
end;
$fn$;

comment on function dispatch._may_invoke(uuid, uuid, text, uuid) is
$doc$Decide whether the human at the top of the chain may start the agent.

p_effective_user_id is the member who acts, or the originator of an acting agent or of the
system; NULL when nobody. The agent that speaks never counts, nor does a member's role. An
unknown agent is refused like a private one.
Errors: none.$doc$;

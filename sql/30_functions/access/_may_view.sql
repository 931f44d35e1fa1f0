create or replace function dispatch._may_view(
    p_workspace_id uuid,
    p_agent_id uuid,
    p_actor_type text,
    p_actor_id uuid
)
returns boolean
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    if p_actor_type in ('agent', 'system') then
        return true;
    end if;
    return exists (
        select
        from dispatch.member as m
        inner join dispatch.agent as a
            on a.workspace_id = m.workspace_id and a.id = p_agent_id
        where m.workspace_id = p_workspace_id
            and a.workspace_id = p_workspace_id
            and m.user_id = p_actor_id
            and (
                a.owner_id = m.user_id
                or m.role in ('owner', 'admin')
                or (
                    a.permission = 'public_to'
                    and exists (
                        select
                        from dispatch.agent_grant as g
                        where g.workspace_id = p_workspace_id
                            and g.agent_id = a.id
                            and (
                                g.target_type = 'workspace'
                                or (g.target_type = 'member' and g.target_id = m.user_id)
                                or (
                                    g.target_type = 'team'
                                    and exists (
                                        select
                                        from dispatch.team_member as t
                                        where t.workspace_id = p_workspace_id
                                            and t.team_id = g.target_id
                                            and t.user_id = m.user_id
                                    )
                                )
                            )
                    )
                )
            )
    );
end;
$fn$;

comment on function dispatch._may_view(uuid, uuid, text, uuid) is
$doc$Decide whether an actor may see an agent's runs, which is less than to start one.

Agents and the system may; of the members the owner, the workspace's owners and admins, and
those to whom the agent is open. Rule: issue-to-run 6.
Errors: none.$doc$;

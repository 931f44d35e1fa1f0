-- Locks: the member FOR UPDATE, which stops new grants to them and new agents of theirs, then
-- the agents that they own by id.
create or replace function dispatch.remove_member(p_workspace_id uuid, p_user_id uuid)
returns void
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $fn$
begin
    perform dispatch._hold_workspace(p_workspace_id);
    perform dispatch._check_ids(array['p_user_id'], array[p_user_id]);
    perform
    from dispatch.member as m
    where m.workspace_id = p_workspace_id and m.user_id = p_user_id
    for update;
    if not found then
        perform dispatch._raise(
            'PD404', 'member not found', 'p_user_id', 'name a member of the workspace.'
        );
    end if;
    perform
    from dispatch.agent as a
    where a.workspace_id = p_workspace_id and a.owner_id = p_user_id
    order by a.id
    for no key update;
    update dispatch.agent as a
    set owner_id = null
    where a.workspace_id = p_workspace_id and a.owner_id = p_user_id;
    delete from dispatch.agent_grant as g
    where g.workspace_id = p_workspace_id
        and g.target_type = 'member'
        and g.target_id = p_user_id;
    delete from dispatch.team_member as t
    where t.workspace_id = p_workspace_id and t.user_id = p_user_id;
    delete from dispatch.member as m
    where m.workspace_id = p_workspace_id and m.user_id = p_user_id;
end;
$fn$;

comment on function dispatch.remove_member(uuid, uuid) is
$doc$Take a human out of the workspace, with their team memberships and the grants made to them.

Agents that they owned stay without an owner until put_agent names another. Their runs and what
they wrote stay as they are.
Errors: PD400 missing or all-zero argument, PD404 workspace or member not found.$doc$;

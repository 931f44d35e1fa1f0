create or replace function dispatch.grant_invoke(
    p_workspace_id uuid,
    p_agent_id uuid,
    p_target_type text,
    p_target_id uuid default null
)
returns void
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_target uuid;
    v_known boolean;
    v_now timestamptz;
begin
    perform dispatch._hold_workspace(p_workspace_id);
    v_target := dispatch._grant_target(p_workspace_id, p_agent_id, p_target_type, p_target_id);
    v_known := case p_target_type
        when 'workspace' then v_target = p_workspace_id
        when 'member' then dispatch._hold_member(p_workspace_id, v_target)
        else exists (
            select from dispatch.team as t
            where t.workspace_id = p_workspace_id and t.id = v_target
        )
    end;
    perform
    from dispatch.agent as a
    where a.workspace_id = p_workspace_id and a.id = p_agent_id
    for key share;
    if not found then
        perform dispatch._raise(
            'PD404', 'agent not found', 'p_agent_id', 'name an agent of the workspace.'
        );
    elsif not v_known then
        perform dispatch._raise(
            'PD404', 'grant target not found', 'p_target_id',
            'name this workspace, or a member or team of it.'
        );
    end if;
    v_now := dispatch.clock();
    insert into dispatch.agent_grant (
        workspace_id, agent_id, target_type, target_id, created_at
    )
    values (p_workspace_id, p_agent_id, p_target_type, v_target, v_now)
    on conflict (workspace_id, agent_id, target_type, target_id) do nothing;
end;
$fn$;

comment on function dispatch.grant_invoke(uuid, uuid, text, uuid) is
$doc$Let the workspace, a member or a team invoke an agent.

p_target_type is workspace, member or team; p_target_id may be NULL for a workspace only, where
it is the workspace itself. A grant counts while the agent's permission is public_to. Repeating
a call changes nothing. Rule: issue-to-run 6.
Errors: PD400 missing, unknown or all-zero argument; PD404 workspace, agent or target not
found.$doc$;

create or replace function dispatch.put_team_member(
    p_workspace_id uuid,
    p_team_id uuid,
    p_user_id uuid
)
returns void
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $fn$
begin
    perform dispatch._hold_workspace(p_workspace_id);
    perform dispatch._check_ids(array['p_team_id', 'p_user_id'], array[p_team_id, p_user_id]);
    if not exists (
        select from dispatch.team as t
        where t.workspace_id = p_workspace_id and t.id = p_team_id
    ) then
        perform dispatch._raise(
            'PD404', 'team not found', 'p_team_id', 'name a team of the workspace.'
        );
    elsif not dispatch._hold_member(p_workspace_id, p_user_id) then
        perform dispatch._raise(
            'PD404', 'member not found', 'p_user_id', 'name a member of the workspace.'
        );
    end if;
    insert into dispatch.team_member (workspace_id, team_id, user_id)
    values (p_workspace_id, p_team_id, p_user_id)
    on conflict (workspace_id, team_id, user_id) do nothing;
end;
$fn$;

comment on function dispatch.put_team_member(uuid, uuid, uuid) is
$doc$Put a member of the workspace into a team.

Repeating a call changes nothing.
Errors: PD400 missing or all-zero argument; PD404 workspace, team or member not found.$doc$;

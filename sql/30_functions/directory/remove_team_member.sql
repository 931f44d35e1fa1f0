create or replace function dispatch.remove_team_member(
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
    perform dispatch._require_workspace(p_workspace_id);
    perform dispatch._check_ids(array['p_team_id', 'p_user_id'], array[p_team_id, p_user_id]);
    delete from dispatch.team_member as t
    where t.workspace_id = p_workspace_id
        and t.team_id = p_team_id
        and t.user_id = p_user_id;
end;
$fn$;

comment on function dispatch.remove_team_member(uuid, uuid, uuid) is
$doc$Take a member out of a team.

Somebody who is not in it, and a team that is not there, change nothing.
Errors: PD400 missing or all-zero argument, PD404 workspace not found.$doc$;

create or replace function dispatch.put_team(p_workspace_id uuid, p_team_id uuid, p_name text)
returns void
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_now timestamptz;
begin
    perform dispatch._hold_workspace(p_workspace_id);
    perform dispatch._check_ids(array['p_team_id'], array[p_team_id]);
    perform dispatch._check_text('p_name', p_name, dispatch.name_limit());
    v_now := dispatch.clock();
    insert into dispatch.team as t (workspace_id, id, name, created_at)
    values (p_workspace_id, p_team_id, p_name, v_now)
    on conflict (workspace_id, id) do update
    set name = p_name
    where t.name <> p_name;
end;
$fn$;

comment on function dispatch.put_team(uuid, uuid, text) is
$doc$Store a team of the workspace, or rename it.

Repeating a call changes nothing.
Errors: PD400 missing or all-zero argument, name too long; PD404 workspace not found.$doc$;

create or replace function dispatch._require_workspace(p_workspace_id uuid)
returns void
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    perform dispatch._check_ids(array['p_workspace_id'], array[p_workspace_id]);
    if not exists (select from dispatch.workspace as w where w.id = p_workspace_id) then
        perform dispatch._raise(
            'PD404', 'workspace not found', 'p_workspace_id',
            'make it with put_workspace first.'
        );
    end if;
end;
$fn$;

comment on function dispatch._require_workspace(uuid) is
$doc$Refuse a workspace that is NULL, all zero or unknown.

Errors: PD400 argument missing or all-zero id, PD404 workspace not found.$doc$;

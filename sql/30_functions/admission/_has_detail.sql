create or replace function dispatch._has_detail(p_workspace_id uuid, p_run_id uuid)
returns boolean
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    return exists (
        select from dispatch.run_detail as d
        where d.workspace_id = p_workspace_id and d.run_id = p_run_id
    );
end;
$fn$;

comment on function dispatch._has_detail(uuid, uuid) is
$doc$Tell whether a run got its details, and so both of its rows.

Errors: none.$doc$;

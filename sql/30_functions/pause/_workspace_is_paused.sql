create or replace function dispatch._workspace_is_paused(p_workspace_id uuid)
returns boolean
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    return exists (
        select from dispatch.workspace_pause as p
        where p.workspace_id = p_workspace_id and p.released_at is null
    );
end;
$fn$;

comment on function dispatch._workspace_is_paused(uuid) is
$doc$Tell whether a pause of the workspace is open: the one place that reads it.

Errors: none.$doc$;

create or replace function dispatch._resumed_since(p_workspace_id uuid, p_since timestamptz)
returns boolean
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    return exists (
        select from dispatch.workspace_pause as p
        where p.workspace_id = p_workspace_id and p.released_at >= p_since
    );
end;
$fn$;

comment on function dispatch._resumed_since(uuid, timestamptz) is
$doc$Tell whether a pause of the workspace ended at p_since or later.

Errors: none.$doc$;

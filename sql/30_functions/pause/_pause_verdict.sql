create or replace function dispatch._pause_verdict(p_workspace_id uuid)
returns dispatch.reason_code
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    if dispatch._workspace_is_paused(p_workspace_id) then
        return 'paused'::dispatch.reason_code;
    end if;
    return null;
end;
$fn$;

comment on function dispatch._pause_verdict(uuid) is
$doc$Give the code with which gate 3 blocks a wake; NULL when the workspace is not paused.

Errors: none.$doc$;

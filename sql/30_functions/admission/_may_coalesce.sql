create or replace function dispatch._may_coalesce(
    p_workspace_id uuid,
    p_run_id uuid,
    p_wake dispatch.wake,
    p_at timestamptz
)
returns boolean
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    return false;
end;
$fn$;

comment on function dispatch._may_coalesce(uuid, uuid, dispatch.wake, timestamptz) is
$doc$Gate 5: tell whether a wake merges into the pair's queued run at p_at.

Merges none: a wake that finds the pending slot taken is absorbed by gate 6.
Errors: none.$doc$;

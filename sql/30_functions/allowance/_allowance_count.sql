create or replace function dispatch._allowance_count(
    p_workspace_id uuid,
    p_task_id text,
    p_at timestamptz
)
returns bigint
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    return 0::bigint;
end;
$fn$;

comment on function dispatch._allowance_count(uuid, text, timestamptz) is
$doc$Gate 7: give how much of its assignment allowance an issue has used at p_at.

Counts nothing, so every wake is admitted.
Errors: none.$doc$;

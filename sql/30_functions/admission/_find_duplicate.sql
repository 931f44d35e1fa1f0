create or replace function dispatch._find_duplicate(
    p_workspace_id uuid,
    p_idempotency_key text,
    p_at timestamptz
)
returns uuid
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    return null;
end;
$fn$;

comment on function dispatch._find_duplicate(uuid, text, timestamptz) is
$doc$Gate 4: give the run that makes a wake with this key a recent duplicate at p_at.

Admits every wake: a key that is taken is found by its index at the insert.
Errors: none.$doc$;

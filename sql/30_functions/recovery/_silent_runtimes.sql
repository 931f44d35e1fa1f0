create or replace function dispatch._silent_runtimes(
    p_workspace_id uuid,
    p_since timestamptz,
    p_status text default null
)
returns uuid[]
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    return array(
        select r.id
        from dispatch.runtime as r
        where r.workspace_id = p_workspace_id
            and coalesce(r.last_seen_at, r.updated_at) < p_since
            and (p_status is null or r.status = p_status)
    );
end;
$fn$;

comment on function dispatch._silent_runtimes(uuid, timestamptz, text) is
$doc$Give the runtimes of a workspace that were not seen since p_since, of one status where it
is given.

Errors: none.$doc$;

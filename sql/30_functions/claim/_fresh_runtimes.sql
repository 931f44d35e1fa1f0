create or replace function dispatch._fresh_runtimes(
    p_workspace_id uuid,
    p_runtime_ids uuid[],
    p_now timestamptz
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
            and r.id = any(p_runtime_ids)
            and r.status = 'online'
            and coalesce(r.last_seen_at, r.updated_at) >= p_now - dispatch.runtime_freshness()
    );
end;
$fn$;

comment on function dispatch._fresh_runtimes(uuid, uuid[], timestamptz) is
$doc$Give those of the runtimes that are online and were seen within runtime_freshness() of
p_now.

Errors: none.$doc$;

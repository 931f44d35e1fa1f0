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
        from unnest(p_runtime_ids) as i (id)
        cross join lateral (
            select t.id
            from dispatch.runtime as t
            where t.workspace_id = p_workspace_id
                and t.id = i.id
                and t.status = 'online'
                and coalesce(t.last_seen_at, t.updated_at)
                >= p_now - dispatch.runtime_freshness()
            limit 1
        ) as r
    );
end;
$fn$;

comment on function dispatch._fresh_runtimes(uuid, uuid[], timestamptz) is
$doc$Give those of the runtimes that are online and were seen within runtime_freshness() of
p_now.

Errors: none.$doc$;

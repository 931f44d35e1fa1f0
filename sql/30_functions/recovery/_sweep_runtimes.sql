-- Locks: runtime rows, skip locked; a heartbeat that comes in between keeps its runtime online.
create or replace function dispatch._sweep_runtimes(
    p_workspace_id uuid,
    p_max integer,
    p_now timestamptz
)
returns integer
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_silent uuid[];
    v_count integer;
begin
    v_silent := array(
        select r.id
        from dispatch.runtime as r
        where r.workspace_id = p_workspace_id
            and r.status = 'online'
            and coalesce(r.last_seen_at, r.updated_at) < p_now - dispatch.runtime_freshness()
        order by r.id
        limit p_max
        for no key update skip locked
    );
    update dispatch.runtime as r
    set status = 'offline', updated_at = coalesce(r.last_seen_at, r.updated_at)
    where r.workspace_id = p_workspace_id and r.id = any(v_silent);
    get diagnostics v_count = row_count;
    return v_count;
end;
$fn$;

comment on function dispatch._sweep_runtimes(uuid, integer, timestamptz) is
$doc$Set up to p_max runtimes offline that are online and were last seen longer ago than
runtime_freshness(). Returns how many.

Errors: none.$doc$;

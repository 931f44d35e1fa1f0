create or replace function dispatch._replay_oldest(p_max integer)
returns integer
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_workspace uuid;
    v_running uuid[] := '{}'::uuid[];
    v_share record;
    v_done integer := 0;
begin
    for v_workspace in
        select distinct o.workspace_id
        from dispatch.deferred_assignment as o
        where o.resolved_at is null
        order by o.workspace_id
    loop
        if not dispatch._workspace_is_paused(v_workspace) then
            v_running := v_running || v_workspace;
        end if;
    end loop;
    for v_share in
        select q.workspace_id, count(*)::integer as records
        from (
            select o.workspace_id
            from dispatch.deferred_assignment as o
            where o.workspace_id = any(v_running) and o.resolved_at is null
            order by o.created_at, o.issue_id
            limit p_max
        ) as q
        group by q.workspace_id
        order by q.workspace_id
    loop
        v_done := v_done + dispatch._replay_assignments(v_share.workspace_id, v_share.records);
    end loop;
    return v_done;
end;
$fn$;

comment on function dispatch._replay_oldest(integer) is
$doc$Replay the p_max oldest remembered assignments of workspaces that are not paused; returns
how many were resolved.

Errors: as _admit_wakes.$doc$;

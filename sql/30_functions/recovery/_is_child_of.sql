create or replace function dispatch._is_child_of(
    p_workspace_id uuid,
    p_run_id uuid,
    p_failure_reason text
)
returns boolean
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    return exists (
        select
        from dispatch.run_detail as d
        inner join dispatch.run_detail as p
            on p.workspace_id = d.workspace_id and p.run_id = d.parent_run_id
        where d.workspace_id = p_workspace_id
            and p.workspace_id = p_workspace_id
            and d.run_id = p_run_id
            and p.failure_reason = p_failure_reason
    );
end;
$fn$;

comment on function dispatch._is_child_of(uuid, uuid, text) is
$doc$Tell whether a run is the retry of one that failed for this reason.

Errors: none.$doc$;

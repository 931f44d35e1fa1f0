create or replace function dispatch._waiting_runs(
    p_workspace_id uuid,
    p_agent_id uuid,
    p_issue_id uuid
)
returns uuid[]
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    return array(
        select d.run_id
        from dispatch.run_detail as d
        inner join dispatch.run as r
            on r.workspace_id = d.workspace_id and r.id = d.run_id
        where d.workspace_id = p_workspace_id
            and r.workspace_id = p_workspace_id
            and d.issue_id = p_issue_id
            and r.agent_id = p_agent_id
            and r.status in ('queued', 'dispatched', 'deferred')
        order by d.run_id
    );
end;
$fn$;

comment on function dispatch._waiting_runs(uuid, uuid, uuid) is
$doc$Give the runs of an issue and agent that are queued, dispatched or deferred.

Errors: none.$doc$;

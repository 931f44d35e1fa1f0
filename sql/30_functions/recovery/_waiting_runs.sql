-- Locks: run rows FOR NO KEY UPDATE by id. A run that was started while this waited is left
-- out, since the condition is rechecked under the lock.
create or replace function dispatch._waiting_runs(
    p_workspace_id uuid,
    p_agent_id uuid,
    p_issue_id uuid
)
returns uuid[]
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    return array(
        select r.id
        from (
            select d.run_id
            from dispatch.run_detail as d
            where d.workspace_id = p_workspace_id and d.issue_id = p_issue_id
            order by d.run_id
        ) as i
        cross join lateral (
            select s.id
            from dispatch.run as s
            where s.workspace_id = p_workspace_id
                and s.id = i.run_id
                and s.agent_id = p_agent_id
                and s.status in ('queued', 'dispatched', 'deferred')
            limit 1
            for no key update
        ) as r
    );
end;
$fn$;

comment on function dispatch._waiting_runs(uuid, uuid, uuid) is
$doc$Hold and give the runs of an issue and agent that are queued, dispatched or deferred.

Errors: none.$doc$;

-- One arm a partial index: a single list of statuses would match none of them and scan the
-- table.
create or replace function dispatch._live_runs(p_workspace_id uuid, p_agent_id uuid)
returns uuid[]
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    return array(
        select r.id
        from dispatch.run as r
        where r.workspace_id = p_workspace_id
            and r.agent_id = p_agent_id
            and r.status in ('queued', 'dispatched')
        union all
        select r.id
        from dispatch.run as r
        where r.workspace_id = p_workspace_id
            and r.agent_id = p_agent_id
            and r.status in ('waiting_local_directory', 'running')
        union all
        select r.id
        from dispatch.run as r
        where r.workspace_id = p_workspace_id
            and r.agent_id = p_agent_id
            and r.status = 'deferred'
    );
end;
$fn$;

comment on function dispatch._live_runs(uuid, uuid) is
$doc$Give the ids of an agent's runs that have not ended.

Errors: none.$doc$;

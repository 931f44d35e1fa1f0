-- Locks: run rows FOR NO KEY UPDATE by id. The caller holds the agents FOR UPDATE, so no run
-- joins those that are found.
create or replace function dispatch._lock_plans(
    p_workspace_id uuid,
    p_issue_id uuid,
    p_agent_ids uuid[],
    p_run_ids uuid[]
)
returns void
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_runs uuid[];
begin
    v_runs := p_run_ids || array(
        select h.id
        from unnest(p_agent_ids) as a (id)
        cross join lateral (
            select r.id
            from dispatch.run as r
            where r.workspace_id = p_workspace_id
                and r.agent_id = a.id
                and r.issue_id = p_issue_id
                and r.status in ('queued', 'dispatched')
            limit 1
        ) as h
    );
    perform
    from (select distinct u.id from unnest(v_runs) as u (id) order by u.id) as i
    cross join lateral (
        select
        from dispatch.run as r
        where r.workspace_id = p_workspace_id and r.id = i.id
        limit 1
        for no key update
    ) as k;
end;
$fn$;

comment on function dispatch._lock_plans(uuid, uuid, uuid[], uuid[]) is
$doc$Lock these runs, and those that hold the pending slots of the issue and the agents.

Errors: none.$doc$;

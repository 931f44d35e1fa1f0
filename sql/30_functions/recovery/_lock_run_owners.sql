-- Locks: issues FOR KEY SHARE by id, then agents by id: what the successor of a run will refer
-- to, taken before the run's own row. Agents FOR KEY SHARE, or FOR UPDATE, for which every
-- enqueue waits.
create or replace function dispatch._lock_run_owners(
    p_workspace_id uuid,
    p_run_ids uuid[],
    p_is_exclusive boolean default false
)
returns void
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_issues uuid[];
    v_agents uuid[];
begin
    select array_agg(o.issue_id), array_agg(o.agent_id)
    into v_issues, v_agents
    from unnest(p_run_ids) as i (id)
    cross join lateral (
        select r.issue_id, r.agent_id
        from dispatch.run as r
        where r.workspace_id = p_workspace_id and r.id = i.id
        limit 1
    ) as o;
    perform
    from (select distinct u.id from unnest(v_issues) as u (id) order by u.id) as i
    cross join lateral (
        select
        from dispatch.issue as s
        where s.workspace_id = p_workspace_id and s.id = i.id
        limit 1
        for key share
    ) as k;
    if p_is_exclusive then
        perform dispatch._lock_claim_agents(p_workspace_id, v_agents, true);
    else
        perform dispatch._lock_agents(p_workspace_id, v_agents);
    end if;
end;
$fn$;

comment on function dispatch._lock_run_owners(uuid, uuid[], boolean) is
$doc$Keep the issues and agents of these runs from being deleted or archived until the
transaction ends; with p_is_exclusive also the agents from being woken.

Errors: none.$doc$;

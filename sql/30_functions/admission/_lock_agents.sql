-- Locks: agents FOR KEY SHARE by id. Held to the end of the transaction, so that an archive or
-- a teardown, which locks FOR UPDATE, cannot slip between the verdict and the insert.
create or replace function dispatch._lock_agents(p_workspace_id uuid, p_agent_ids uuid[])
returns void
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    if cardinality(p_agent_ids) = 1 then
        perform
        from dispatch.agent as a
        where a.workspace_id = p_workspace_id and a.id = p_agent_ids[1]
        for key share;
        return;
    end if;
    perform
    from (select distinct i.id from unnest(p_agent_ids) as i (id) order by i.id) as n
    cross join lateral (
        select
        from dispatch.agent as a
        where a.workspace_id = p_workspace_id and a.id = n.id
        limit 1
        for key share
    ) as k;
end;
$fn$;

comment on function dispatch._lock_agents(uuid, uuid[]) is
$doc$Keep these agents from being archived or deleted until the transaction ends.

Errors: none.$doc$;

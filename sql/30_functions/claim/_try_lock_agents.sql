-- Locks: agents FOR NO KEY UPDATE, skip locked: never waits, so it may be called while others
-- are held.
create or replace function dispatch._try_lock_agents(p_workspace_id uuid, p_agent_ids uuid[])
returns uuid[]
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    return array(
        select k.id
        from (select distinct u.id from unnest(p_agent_ids) as u (id) order by u.id) as i
        cross join lateral (
            select a.id
            from dispatch.agent as a
            where a.workspace_id = p_workspace_id and a.id = i.id
            limit 1
            for no key update skip locked
        ) as k
    );
end;
$fn$;

comment on function dispatch._try_lock_agents(uuid, uuid[]) is
$doc$Hold those of the agents that nobody else holds, and give them.

Errors: none.$doc$;

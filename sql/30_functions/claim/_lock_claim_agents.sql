-- Locks: agents by id in one pass. A claim that only counts takes FOR NO KEY UPDATE, for which
-- no enqueue waits. Promotion takes FOR UPDATE: it moves runs into the pending slot, and an
-- enqueue that took the slot meanwhile would break the update on the slot's index.
create or replace function dispatch._lock_claim_agents(
    p_workspace_id uuid,
    p_agent_ids uuid[],
    p_is_promoting boolean
)
returns void
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    if p_is_promoting then
        perform
        from (select distinct u.id from unnest(p_agent_ids) as u (id) order by u.id) as i
        cross join lateral (
            select
            from dispatch.agent as a
            where a.workspace_id = p_workspace_id and a.id = i.id
            limit 1
            for update
        ) as k;
    else
        perform
        from (select distinct u.id from unnest(p_agent_ids) as u (id) order by u.id) as i
        cross join lateral (
            select
            from dispatch.agent as a
            where a.workspace_id = p_workspace_id and a.id = i.id
            limit 1
            for no key update
        ) as k;
    end if;
end;
$fn$;

comment on function dispatch._lock_claim_agents(uuid, uuid[], boolean) is
$doc$Serialise claims for these agents until the transaction ends.

Errors: none.$doc$;

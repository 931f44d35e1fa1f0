-- Locks: run rows FOR NO KEY UPDATE by id, and none when no slot is taken.
create or replace function dispatch._lock_holders(
    p_workspace_id uuid,
    p_round dispatch._candidate[]
)
returns uuid[]
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_holders uuid[];
begin
    v_holders := array(
        select h.id
        from unnest(p_round) as c
        cross join lateral (
            select r.id
            from dispatch.run as r
            where r.workspace_id = p_workspace_id
                and r.agent_id = (c.wake).agent_id
                and r.issue_id = (c.wake).issue_id
                and r.status in ('queued', 'dispatched')
            limit 1
        ) as h
        where (c.wake).issue_id is not null and (c.wake).fire_at is null
    );
    return array(
        select r.id
        from (select distinct i.id from unnest(v_holders) as i (id) order by i.id) as h
        cross join lateral (
            select o.id
            from dispatch.run as o
            where o.workspace_id = p_workspace_id and o.id = h.id
            limit 1
            for no key update
        ) as r
    );
end;
$fn$;

comment on function dispatch._lock_holders(uuid, dispatch._candidate[]) is
$doc$Hold the runs in whose pending slots these candidates may end, in one order, so that two
batches wait for each other and never deadlock, and give them.

Errors: none.$doc$;

-- Locks: run rows, skip locked. The caller holds the agents FOR UPDATE, so no enqueue takes a
-- slot between the look at it and the update. A run that could not be promoted for longer than
-- a queued run may wait counts as due from then on, else the next sweep would take it at once.
-- Retries that another run has replaced go first, so that none of them takes the slot.
create or replace function dispatch._promote_due(
    p_workspace_id uuid,
    p_runtime_ids uuid[],
    p_agent_ids uuid[],
    p_max integer,
    p_now timestamptz
)
returns integer
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_deferred constant dispatch.run_status := 'deferred'::dispatch.run_status;
    v_promoted uuid[];
    v_run uuid;
begin
    if dispatch._workspace_is_paused(p_workspace_id) then
        return 0;
    end if;
    perform dispatch._drop_superseded(p_workspace_id, p_agent_ids, p_now);
    v_promoted := array(
        with due as materialized (
            select
                r.id, r.fire_at,
                row_number() over (
                    partition by r.agent_id, coalesce(r.issue_id, r.id)
                    order by r.priority desc, r.requested_at, r.id
                ) as place
            from unnest(p_runtime_ids) as rt (id)
            cross join lateral (
                select d.id, d.agent_id, d.issue_id, d.priority, d.requested_at, d.fire_at
                from dispatch.run as d
                where d.workspace_id = p_workspace_id
                    and d.runtime_id = rt.id
                    and d.status = 'deferred'
                    and d.fire_at <= p_now
                    and d.agent_id = any(p_agent_ids)
                    and not exists (
                        select
                        from dispatch.run as o
                        where o.workspace_id = p_workspace_id
                            and o.agent_id = d.agent_id
                            and o.issue_id = d.issue_id
                            and o.status in ('queued', 'dispatched')
                    )
                offset 0
            ) as r
        ),
        picked as materialized (
            select d.id from due as d where d.place = 1 order by d.fire_at, d.id limit p_max
        )
        select k.id
        from (select p.id from picked as p order by p.id) as p
        cross join lateral (
            select r.id
            from dispatch.run as r
            where r.workspace_id = p_workspace_id and r.id = p.id and r.status = v_deferred
            limit 1
            for no key update skip locked
        ) as k
    );
    foreach v_run in array v_promoted loop
        update dispatch.run as r
        set
            status = 'queued',
            fire_at = case
                when r.fire_at < p_now - dispatch.queued_ttl() then p_now else r.fire_at
            end
        where r.workspace_id = p_workspace_id and r.id = v_run;
    end loop;
    perform dispatch._notify_runtimes(array(
        select distinct m.runtime_id
        from unnest(v_promoted) as p (id)
        cross join lateral (
            select r.runtime_id
            from dispatch.run as r
            where r.workspace_id = p_workspace_id and r.id = p.id
            limit 1
        ) as m
    ));
    return cardinality(v_promoted);
end;
$fn$;

comment on function dispatch._promote_due(uuid, uuid[], uuid[], integer, timestamptz) is
$doc$Queue the deferred runs that are due at p_now and whose pending slot is free, one a pair.

Of several due runs of one issue and agent the one of highest priority goes first, then the
older. Returns how many moved. Rule: issue-to-run 4.
Errors: none.$doc$;

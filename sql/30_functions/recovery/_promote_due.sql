-- Locks: run rows, skip locked. The caller holds the agents FOR UPDATE, so no enqueue takes a
-- slot between the look at it and the update.
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
    v_runtimes uuid[];
begin
    with due as materialized (
        select
            r.id, r.fire_at,
            row_number() over (
                partition by r.agent_id, coalesce(r.issue_id, r.id)
                order by r.priority desc, r.requested_at, r.id
            ) as place
        from dispatch.run as r
        where r.workspace_id = p_workspace_id
            and r.runtime_id = any(p_runtime_ids)
            and r.agent_id = any(p_agent_ids)
            and r.status = 'deferred'
            and r.fire_at <= p_now
            and not exists (
                select
                from dispatch.run as o
                where o.workspace_id = p_workspace_id
                    and o.agent_id = r.agent_id
                    and o.issue_id = r.issue_id
                    and o.status in ('queued', 'dispatched')
            )
    ),
    picked as materialized (
        select r.id
        from dispatch.run as r
        where r.workspace_id = p_workspace_id
            and r.id in (
                select d.id from due as d where d.place = 1 order by d.fire_at, d.id limit p_max
            )
            and r.status = 'deferred'
        order by r.id
        for no key update skip locked
    ),
    promoted as (
        update dispatch.run as r
        set status = 'queued'
        from picked as p
        where r.workspace_id = p_workspace_id and r.id = p.id and r.status = 'deferred'
        returning r.runtime_id
    )
    select array_agg(p.runtime_id) into v_runtimes from promoted as p;
    perform dispatch._notify_runtimes(array(select distinct u from unnest(v_runtimes) as u));
    return coalesce(cardinality(v_runtimes), 0);
end;
$fn$;

comment on function dispatch._promote_due(uuid, uuid[], uuid[], integer, timestamptz) is
$doc$Queue the deferred runs that are due at p_now and whose pending slot is free, one a pair.

Of several due runs of one issue and agent the one of highest priority goes first, then the
older. Returns how many moved. Rule: issue-to-run 4.
Errors: none.$doc$;

-- Locks: run rows, skip locked. Capacity is not asked: a stale dispatch counts already.
create or replace function dispatch._reclaim_stale(
    p_workspace_id uuid,
    p_runtime_ids uuid[],
    p_max integer,
    p_lease interval,
    p_now timestamptz
)
returns uuid[]
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_reclaimed uuid[];
begin
    with stale as materialized (
        select r.id
        from dispatch.run as r
        inner join dispatch.agent as a
            on a.workspace_id = r.workspace_id and a.id = r.agent_id
        where r.workspace_id = p_workspace_id
            and a.workspace_id = p_workspace_id
            and r.runtime_id = any(p_runtime_ids)
            and r.status = 'dispatched'
            and r.dispatched_at < p_now - dispatch.claim_recovery_window()
            and (r.lease_expires_at is null or r.lease_expires_at < p_now)
            and a.status = 'active'
        order by r.priority desc, r.dispatched_at, r.id
        limit p_max
        for no key update of r skip locked
    ),
    moved as (
        update dispatch.run as r
        set
            claim_no = r.claim_no + 1,
            dispatched_at = p_now,
            lease_expires_at = p_now + p_lease
        from stale as s
        where r.workspace_id = p_workspace_id and r.id = s.id and r.status = 'dispatched'
        returning r.id
    )
    select array_agg(m.id) into v_reclaimed from moved as m;
    return coalesce(v_reclaimed, '{}');
end;
$fn$;

comment on function dispatch._reclaim_stale(uuid, uuid[], integer, interval, timestamptz) is
$doc$Hand out again up to p_max claims of these runtimes that were never confirmed.

Stale is a dispatched run older than claim_recovery_window() without a live lease. The run stays
dispatched and gets the next claim number; its attempt stays. Returns the runs. Rule:
issue-to-run 4.
Errors: none.$doc$;

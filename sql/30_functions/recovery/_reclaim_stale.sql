-- Locks: run rows, skip locked. Capacity is not asked: a stale dispatch counts already. The
-- rows are moved one by one by their key, which is the same walk whatever the tables held when
-- the plan was made.
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
    v_dispatched constant dispatch.run_status := 'dispatched'::dispatch.run_status;
    v_reclaimed uuid[];
    v_run uuid;
begin
    if dispatch._workspace_is_paused(p_workspace_id) then
        return '{}'::uuid[];
    end if;
    v_reclaimed := array(
        with stale as materialized (
            select r.id
            from unnest(p_runtime_ids) as rt (id)
            cross join lateral (
                select s.id, s.agent_id, s.priority, s.dispatched_at
                from dispatch.run as s
                where s.workspace_id = p_workspace_id
                    and s.runtime_id = rt.id
                    and s.status = 'dispatched'
                    and s.dispatched_at < p_now - dispatch.claim_recovery_window()
                    and (s.lease_expires_at is null or s.lease_expires_at < p_now)
                offset 0
            ) as r
            cross join lateral (
                select
                from dispatch.agent as a
                where a.workspace_id = p_workspace_id
                    and a.id = r.agent_id
                    and a.status = 'active'
                limit 1
            ) as g
            order by r.priority desc, r.dispatched_at, r.id
            limit p_max
        )
        select k.id
        from (select s.id from stale as s order by s.id) as s
        cross join lateral (
            select r.id
            from dispatch.run as r
            where r.workspace_id = p_workspace_id
                and r.id = s.id
                and r.status = v_dispatched
                and r.dispatched_at < p_now - dispatch.claim_recovery_window()
                and (r.lease_expires_at is null or r.lease_expires_at < p_now)
            limit 1
            for no key update skip locked
        ) as k
    );
    foreach v_run in array v_reclaimed loop
        update dispatch.run as r
        set
            claim_no = r.claim_no + 1,
            dispatched_at = p_now,
            lease_expires_at = p_now + p_lease
        where r.workspace_id = p_workspace_id and r.id = v_run;
    end loop;
    return v_reclaimed;
end;
$fn$;

comment on function dispatch._reclaim_stale(uuid, uuid[], integer, interval, timestamptz) is
$doc$Hand out again up to p_max claims of these runtimes that were never confirmed.

Stale is a dispatched run older than claim_recovery_window() without a live lease. The run stays
dispatched and gets the next claim number; its attempt stays. Returns the runs. Rule:
issue-to-run 4.
Errors: none.$doc$;

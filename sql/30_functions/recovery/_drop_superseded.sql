-- Locks: run rows, skip locked. A retry that waits for its time holds no slot, so another run
-- of the pair may have come first, and then that run does the work. Against a run that has
-- begun only a rerun counts: its wakes are the retry's own, while a run of other wakes leaves
-- the retry to wait for the lane.
create or replace function dispatch._drop_superseded(
    p_workspace_id uuid,
    p_agent_ids uuid[],
    p_now timestamptz
)
returns integer
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_old record;
    v_dropped integer := 0;
begin
    for v_old in
        select k.id, l.id as live_id, l.is_pending
        from unnest(p_agent_ids) as g (id)
        cross join lateral (
            select r.id, r.agent_id, r.issue_id
            from dispatch.run as r
            where r.workspace_id = p_workspace_id
                and r.agent_id = g.id
                and r.status = 'deferred'
                and r.attempt > 1
                and r.claim_no = 0
                and r.issue_id is not null
            offset 0
        ) as k
        cross join lateral (
            select o.id, o.status in ('queued', 'dispatched') as is_pending
            from (
                select p.id, p.status
                from dispatch.run as p
                where p.workspace_id = p_workspace_id
                    and p.agent_id = k.agent_id
                    and p.issue_id = k.issue_id
                    and p.status in ('queued', 'dispatched')
                union all
                select p.id, p.status
                from dispatch.run as p
                where p.workspace_id = p_workspace_id
                    and p.agent_id = k.agent_id
                    and p.lane = k.issue_id
                    and p.status in ('dispatched', 'waiting_local_directory', 'running')
                    and p.status <> 'dispatched'
                    and exists (
                        select
                        from dispatch.run_detail as d
                        where d.workspace_id = p_workspace_id
                            and d.run_id = p.id
                            and d.rerun_of_run_id is not null
                    )
            ) as o
            limit 1
        ) as l
    loop
        continue when not dispatch._try_lock_run(p_workspace_id, v_old.id, '{deferred}');
        if v_old.is_pending then
            continue when not dispatch._try_lock_run(
                p_workspace_id, v_old.live_id, '{queued,dispatched}'
            );
            perform dispatch._record_first_wake(p_workspace_id, v_old.live_id);
            perform dispatch._record_first_wake(p_workspace_id, v_old.id);
            perform dispatch._hand_over(p_workspace_id, v_old.id, v_old.live_id, false);
        end if;
        v_dropped := v_dropped + dispatch._cancel_runs(
            p_workspace_id, array[v_old.id], 'superseded by another run of the pair', p_now
        );
    end loop;
    return v_dropped;
end;
$fn$;

comment on function dispatch._drop_superseded(uuid, uuid[], timestamptz) is
$doc$Cancel the deferred retries of these agents whose pair has another live run, and hand that
run their wakes. Returns how many.

Rule: issue-to-run 4.
Errors: none.$doc$;

-- A retry that waits for its time holds no slot, so another run of the pair may have come
-- first, and then that run does the work. Against a run that has begun only a rerun counts: its
-- wakes are the retry's own, while a run of other wakes leaves the retry to wait for the lane.
create or replace function dispatch._superseded_retries(
    p_workspace_id uuid,
    p_agent_ids uuid[]
)
returns table (run_id uuid, agent_id uuid, live_id uuid, is_pending boolean)
language plpgsql
stable
parallel safe
rows 10
set search_path = pg_catalog, pg_temp
as $fn$
begin
    return query
    select k.id, k.agent_id, l.id, l.is_pending
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
    ) as l;
end;
$fn$;

comment on function dispatch._superseded_retries(uuid, uuid[]) is
$doc$List the deferred automatic retries of these agents whose issue and agent have another live
run, with that run and whether it still holds the pending slot.

A retry that a daemon has claimed and put off is none. Rule: issue-to-run 4.
Errors: none.$doc$;

create or replace function dispatch._standing_pair_run(
    p_workspace_id uuid,
    p_issue_id uuid,
    p_agent_id uuid
)
returns dispatch.run
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_run dispatch.run;
begin
    select
        r.workspace_id, r.id, r.agent_id, r.runtime_id, r.issue_id, r.lane, r.status,
        r.priority, r.claim_no, r.attempt, r.max_attempts, r.requested_at, r.fire_at,
        r.dispatched_at, r.lease_expires_at, r.started_at, r.finished_at
    into v_run
    from dispatch.run_detail as d
    inner join dispatch.run as r on r.workspace_id = p_workspace_id and r.id = d.run_id
    where d.workspace_id = p_workspace_id
        and d.issue_id = p_issue_id
        and r.agent_id = p_agent_id
        and r.status in (
            'deferred', 'queued', 'dispatched', 'waiting_local_directory', 'running'
        )
    order by
        r.status in ('deferred', 'queued'), r.status = 'deferred', r.requested_at, r.id
    limit 1;
    return v_run;
end;
$fn$;

comment on function dispatch._standing_pair_run(uuid, uuid, uuid) is
$doc$Give the run of an issue and an agent that has not ended: the active one, else the queued,
else the deferred one that was asked for first. NULLs when there is none.

Errors: none.$doc$;

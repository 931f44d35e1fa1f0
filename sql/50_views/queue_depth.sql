create or replace view dispatch.queue_depth as
select
    r.workspace_id,
    r.agent_id,
    r.status,
    count(*) as runs,
    min(r.requested_at) as oldest_requested_at
from dispatch.run as r
where r.status in ('deferred', 'queued', 'dispatched', 'waiting_local_directory', 'running')
group by r.workspace_id, r.agent_id, r.status;

comment on view dispatch.queue_depth is
$doc$How many runs that have not ended each agent has, by status, and since when the oldest
asks.$doc$;

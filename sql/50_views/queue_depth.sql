-- One branch a partial index, so that the history of ended runs is never read.
create or replace view dispatch.queue_depth as
with unfinished as (
    select r.workspace_id, r.agent_id, r.status, r.requested_at
    from dispatch.run as r
    where r.status = 'queued'
    union all
    select r.workspace_id, r.agent_id, r.status, r.requested_at
    from dispatch.run as r
    where r.status = 'deferred'
    union all
    select r.workspace_id, r.agent_id, r.status, r.requested_at
    from dispatch.run as r
    where r.status in ('dispatched', 'waiting_local_directory', 'running')
)
select
    u.workspace_id,
    u.agent_id,
    u.status,
    count(*) as runs,
    min(u.requested_at) as oldest_requested_at
from unfinished as u
group by u.workspace_id, u.agent_id, u.status;

comment on view dispatch.queue_depth is
$doc$How many runs that have not ended each agent has, by status, and since when the oldest
asks.$doc$;

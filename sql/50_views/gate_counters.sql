-- The names are written out, since a view calls functions as its reader, who may call no
-- private one.
create or replace view dispatch.gate_counters as
with known as (
    select k.metric, k.reason
    from (
        values
            ('assignment_rate_limit', 'allowance_exhausted'),
            ('assignment_rate_limit', 'count_read_failed'),
            ('assignment_rate_limit', 'task_unattributed'),
            ('run_dedup', 'duplicate_recent'),
            ('run_dedup', 'duplicate_key'),
            ('pause', 'paused'),
            ('pause', 'pause_unreadable'),
            ('coalesce', 'coalesced'),
            ('pending_slot', 'already_active'),
            ('refused', 'invocation_not_allowed'),
            ('refused', 'target_unavailable'),
            ('refused', 'agent_runtime_required'),
            ('refused', 'runtime_offline'),
            ('refused', 'runtime_unusable'),
            ('refused', 'attribution_blocked'),
            ('refused', 'agent_not_runnable'),
            ('refused', 'self_trigger_suppressed'),
            ('refused', 'internal_error')
    ) as k (metric, reason)
),
counted as (
    select e.metric, e.reason, count(*) as value
    from dispatch.gate_event as e
    group by e.metric, e.reason
    union all
    select t.metric, t.reason, t.value
    from dispatch.gate_total as t
    union all
    select
        case g.outcome when 'coalesced' then 'coalesce' else 'pending_slot' end,
        case g.outcome when 'coalesced' then 'coalesced' else 'already_active' end,
        g.count
    from dispatch.run_trigger as g
    where g.outcome in ('coalesced', 'absorbed') and not g.inherited
)
select k.metric, k.reason, coalesce(sum(c.value), 0)::bigint as value
from known as k
left join counted as c on c.metric = k.metric and c.reason = k.reason
group by k.metric, k.reason;

comment on view dispatch.gate_counters is
$doc$How often each gate acted, over all workspaces, pruned records included.

Wakes that were queued or deferred are in no row; rows of what never happened have the
value 0.$doc$;

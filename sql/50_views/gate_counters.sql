create or replace view dispatch.gate_counters as
with known as (
    select dispatch._gate_metric(k.reason) as metric, k.reason
    from unnest(array[
        'allowance_exhausted', 'count_read_failed', 'task_unattributed', 'duplicate_recent',
        'duplicate_key', 'paused', 'pause_unreadable', 'coalesced', 'already_active',
        'invocation_not_allowed', 'target_unavailable', 'agent_runtime_required',
        'runtime_offline', 'runtime_unusable', 'attribution_blocked', 'agent_not_runnable',
        'self_trigger_suppressed', 'internal_error'
    ]) as k (reason)
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

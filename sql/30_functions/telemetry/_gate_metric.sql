create or replace function dispatch._gate_metric(p_reason text)
returns text
language sql
immutable
parallel safe
as $fn$
select case
    when p_reason in ('allowance_exhausted', 'count_read_failed', 'task_unattributed')
        then 'assignment_rate_limit'
    when p_reason in ('duplicate_recent', 'duplicate_key') then 'run_dedup'
    when p_reason in ('paused', 'pause_unreadable') then 'pause'
    when p_reason = 'coalesced' then 'coalesce'
    when p_reason = 'already_active' then 'pending_slot'
    else 'refused'
end;
$fn$;

comment on function dispatch._gate_metric(text) is
$doc$Name the counter under which a gate's reason is counted.

Errors: none.$doc$;

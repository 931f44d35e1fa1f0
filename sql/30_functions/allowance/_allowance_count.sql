-- A retry and a follow-up keep the payload of the run they follow, but no agent asked for them:
-- a slot is held by the run that a wake made and by none that came after it.
create or replace function dispatch._allowance_count(
    p_workspace_id uuid,
    p_task_id text,
    p_at timestamptz
)
returns bigint
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_count bigint;
begin
    select count(*)
    into v_count
    from dispatch.run_detail as d
    where d.workspace_id = p_workspace_id
        and hashtextextended(d.payload ->> 'task_id', 0) = hashtextextended(p_task_id, 0)
        and d.requested_at > p_at - dispatch.allowance_window()
        and d.requested_at <= p_at
        and d.reason = 'task_assigned'
        and d.payload -> 'actor_type' = '"agent"'
        and jsonb_typeof(d.payload -> 'task_id') = 'string'
        and d.payload ->> 'task_id' = p_task_id
        and num_nonnulls(d.parent_run_id, d.rerun_of_run_id) = 0
        and not exists (
            select
            from dispatch.run_trigger as t
            where t.workspace_id = p_workspace_id
                and t.run_id = d.run_id
                and t.seq = 1
                and t.inherited
        );
    return v_count;
end;
$fn$;

comment on function dispatch._allowance_count(uuid, text, timestamptz) is
$doc$Count the runs that agent-initiated assignment wakes of an issue made in the window that
ends at p_at.

The window is half-open: a run exactly allowance_window() old is out of it, one of p_at is in.
Status, agent, key and order do not matter. Rule: assignment-wake-rate-limit, Counting without
new state.
Errors: none of its own.$doc$;

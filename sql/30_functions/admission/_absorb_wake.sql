create or replace function dispatch._absorb_wake(
    p_workspace_id uuid,
    p_run_id uuid,
    p_wake dispatch.wake,
    p_now timestamptz
)
returns dispatch.decision
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    if dispatch._may_coalesce(p_workspace_id, p_run_id, p_wake, p_now) then
        perform dispatch._merge_wake(p_workspace_id, p_run_id, p_wake, p_now);
        return row(
            'coalesced', 'coalesced', p_run_id, p_wake.agent_id, p_wake.source, null
        )::dispatch.decision;
    end if;
    -- A retry or a follow-up that finds the slot taken hands its wakes over by itself.
    if p_wake.skip is null or not 'record' = any(p_wake.skip) then
        perform dispatch._record_wake(p_workspace_id, p_run_id, p_wake, 'absorbed', p_now);
    end if;
    return row(
        'absorbed', 'already_active', p_run_id, p_wake.agent_id, p_wake.source, null
    )::dispatch.decision;
end;
$fn$;

comment on function dispatch._absorb_wake(uuid, uuid, dispatch.wake, timestamptz) is
$doc$Gates 5 and 6: merge a wake into the run that holds its pending slot, or record it there.

The caller holds the run row and has seen it queued or dispatched under that lock.
Errors: none.$doc$;

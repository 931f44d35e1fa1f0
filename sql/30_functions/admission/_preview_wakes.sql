create or replace function dispatch._preview_wakes(
    p_workspace_id uuid,
    p_wakes dispatch.wake[]
)
returns dispatch.decision[]
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_now constant timestamptz := dispatch.clock();
    v_decisions dispatch.decision[] := '{}'::dispatch.decision[];
    v_c dispatch._candidate;
begin
    foreach v_c in array dispatch._gate_wakes(p_workspace_id, p_wakes, v_now) loop
        v_decisions[v_c.ord] := case
            when v_c.code is not null then dispatch._blocked_decision(v_c.wake, v_c.code)
            else dispatch._preview_wake(p_workspace_id, v_c.wake, v_now)
        end;
    end loop;
    return v_decisions;
end;
$fn$;

comment on function dispatch._preview_wakes(uuid, dispatch.wake[]) is
$doc$Give the decisions that admission would make about wakes of different issues now, in the
same order, and write nothing.

Errors: those of the gates' reads.$doc$;

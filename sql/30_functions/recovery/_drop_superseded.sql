-- Locks: run rows, skip locked, so the caller may hold agents.
create or replace function dispatch._drop_superseded(
    p_workspace_id uuid,
    p_agent_ids uuid[],
    p_now timestamptz
)
returns integer
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_old record;
    v_dropped integer := 0;
begin
    for v_old in
        select o.run_id, o.live_id, o.is_pending
        from dispatch._superseded_retries(p_workspace_id, p_agent_ids) as o
    loop
        continue when not dispatch._try_lock_run(p_workspace_id, v_old.run_id, '{deferred}');
        if v_old.is_pending then
            continue when not dispatch._try_lock_run(
                p_workspace_id, v_old.live_id, '{queued,dispatched}'
            );
            perform dispatch._record_first_wake(p_workspace_id, v_old.live_id);
            perform dispatch._record_first_wake(p_workspace_id, v_old.run_id);
            perform dispatch._hand_over(p_workspace_id, v_old.run_id, v_old.live_id, false);
        end if;
        v_dropped := v_dropped + dispatch._cancel_runs(
            p_workspace_id, array[v_old.run_id], 'superseded by another run of the pair', p_now
        );
    end loop;
    return v_dropped;
end;
$fn$;

comment on function dispatch._drop_superseded(uuid, uuid[], timestamptz) is
$doc$Cancel the deferred retries of these agents whose pair has another live run, and hand that
run their wakes. Returns how many.

Rule: issue-to-run 4.
Errors: none.$doc$;

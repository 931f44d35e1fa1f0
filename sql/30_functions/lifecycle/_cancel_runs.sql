-- Locks: run rows by id. The caller has made sure, by a lock on the agent or the issue, that no
-- further run joins those that it names.
create or replace function dispatch._cancel_runs(
    p_workspace_id uuid,
    p_run_ids uuid[],
    p_reason text,
    p_now timestamptz
)
returns integer
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_locked uuid[];
    v_runtimes uuid[];
begin
    v_locked := array(
        select r.id
        from dispatch.run as r
        where r.workspace_id = p_workspace_id
            and r.id = any(p_run_ids)
            and r.status not in ('completed', 'failed', 'cancelled')
        order by r.id
        for no key update
    );
    if cardinality(v_locked) = 0 then
        return 0;
    end if;
    -- A run that held a lane or a unit of capacity may let another one be claimed.
    v_runtimes := array(
        select distinct r.runtime_id
        from dispatch.run as r
        where r.workspace_id = p_workspace_id
            and r.id = any(v_locked)
            and r.status in ('dispatched', 'waiting_local_directory', 'running')
    );
    update dispatch.run as r
    set status = 'cancelled', finished_at = p_now, lease_expires_at = null
    where r.workspace_id = p_workspace_id and r.id = any(v_locked);
    update dispatch.run_detail as d
    set error = dispatch._cut_text(p_reason, dispatch.error_limit())
    where d.workspace_id = p_workspace_id
        and d.run_id = any(v_locked)
        and p_reason is not null;
    perform dispatch._notify_runtimes(v_runtimes);
    return cardinality(v_locked);
end;
$fn$;

comment on function dispatch._cancel_runs(uuid, uuid[], text, timestamptz) is
$doc$Cancel those of the runs that are not terminal and return how many; p_reason is kept as
error.

What was recorded on a run is cancelled with it.
Errors: none.$doc$;

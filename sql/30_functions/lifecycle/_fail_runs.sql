-- Locks: the runs' agents first, for the retries and follow-ups, then run rows by id.
create or replace function dispatch._fail_runs(
    p_workspace_id uuid,
    p_reports dispatch._report[]
)
returns setof dispatch.transition
language plpgsql
volatile
parallel unsafe
rows 10
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_locked uuid[];
    v_runtimes uuid[];
    v_run uuid;
    v_now timestamptz;
begin
    perform dispatch._lock_agents(p_workspace_id, array(
        select distinct r.agent_id
        from unnest(p_reports) as p
        inner join dispatch.run as r on r.workspace_id = p_workspace_id and r.id = p.run_id
    ));
    v_locked := dispatch._lock_runs(
        p_workspace_id, p_reports, '{dispatched,waiting_local_directory,running}'
    );
    v_now := dispatch.clock();
    if cardinality(v_locked) > 0 then
        with moved as (
            update dispatch.run as r
            set status = 'failed', finished_at = v_now, lease_expires_at = null
            where r.workspace_id = p_workspace_id and r.id = any(v_locked)
            returning r.runtime_id
        )
        select array_agg(distinct m.runtime_id) into v_runtimes from moved as m;
        update dispatch.run_detail as d
        set
            failure_reason = coalesce(p.failure_reason, 'agent_error'),
            error = dispatch._cut_text(p.error, dispatch.error_limit()),
            session_id = case
                when not p.session_lost then coalesce(p.session_id, d.session_id)
            end,
            work_dir = coalesce(p.work_dir, d.work_dir)
        from dispatch._first_reports(p_reports) as p
        where d.workspace_id = p_workspace_id
            and d.run_id = any(v_locked)
            and d.run_id = p.run_id;
        foreach v_run in array v_locked loop
            if not dispatch._queue_retry(p_workspace_id, v_run) then
                perform dispatch._settle_owed(p_workspace_id, array[v_run]);
            end if;
        end loop;
        perform dispatch._notify_runtimes(v_runtimes);
    end if;
    return query
    select
        t.applied, t.run_id, t.status, t.claim_no, t.retry_run_id, t.reason, t.follow_up_run_id
    from dispatch._transitions(p_workspace_id, p_reports, v_locked, 'failed') as t;
end;
$fn$;

comment on function dispatch._fail_runs(uuid, dispatch._report[]) is
$doc$Move active runs to failed, keep why, and queue their retries, or follow-ups for what they
owe.

Returns a transition a report, in the order given.
Errors: as _admit_wakes.$doc$;

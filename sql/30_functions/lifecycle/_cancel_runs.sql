-- Locks: run rows by id. The caller has made sure, by a lock on the agent or the issue, that no
-- further run joins those that it names. The plan settings hold for everything that this
-- function calls: a plan made while the tables are empty is kept, and must walk the same
-- indexes as one made over a million rows.
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
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_material = off
set jit = off
as $fn$
declare
    v_run record;
    v_runtimes uuid[];
    v_count integer := 0;
begin
    for v_run in
        select k.id, k.runtime_id, k.is_active
        from (select distinct u.id from unnest(p_run_ids) as u (id) order by u.id) as i
        cross join lateral (
            select
                r.id, r.runtime_id,
                r.status in ('dispatched', 'waiting_local_directory', 'running') as is_active
            from dispatch.run as r
            where r.workspace_id = p_workspace_id
                and r.id = i.id
                and r.status not in ('completed', 'failed', 'cancelled')
            limit 1
            for no key update
        ) as k
    loop
        update dispatch.run as r
        set status = 'cancelled', finished_at = p_now, lease_expires_at = null
        where r.workspace_id = p_workspace_id and r.id = v_run.id;
        update dispatch.run_detail as d
        set error = dispatch._cut_text(p_reason, dispatch.error_limit())
        where d.workspace_id = p_workspace_id
            and d.run_id = v_run.id
            and p_reason is not null;
        -- A run that held a lane or a unit of capacity may let another one be claimed.
        if v_run.is_active then
            v_runtimes := v_runtimes || v_run.runtime_id;
        end if;
        v_count := v_count + 1;
    end loop;
    perform dispatch._notify_runtimes(array(select distinct u from unnest(v_runtimes) as u));
    return v_count;
end;
$fn$;

comment on function dispatch._cancel_runs(uuid, uuid[], text, timestamptz) is
$doc$Cancel those of the runs that are not terminal and return how many; p_reason is kept as
error.

What was recorded on a run is cancelled with it.
Errors: none.$doc$;

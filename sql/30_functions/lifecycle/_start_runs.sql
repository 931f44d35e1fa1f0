-- Locks: issues and agents of runs that owe wakes, then run rows by id. The plan settings hold
-- for everything that this function calls: a plan made while the tables are empty is kept, and
-- must walk the same indexes as one made over a million rows.
create or replace function dispatch._start_runs(
    p_workspace_id uuid,
    p_reports dispatch._report[]
)
returns dispatch.transition[]
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
    v_locked uuid[];
    v_leases interval[];
begin
    perform dispatch._lock_owing(
        p_workspace_id, array(select p.run_id from unnest(p_reports) as p)
    );
    v_locked := dispatch._lock_runs(
        p_workspace_id, p_reports, '{dispatched,waiting_local_directory}'
    );
    if cardinality(v_locked) > 0 then
        v_leases := array(
            select p.lease
            from dispatch._first_reports(p_reports) as p
            cross join lateral (
                select
                from dispatch.run as r
                where r.workspace_id = p_workspace_id
                    and r.id = p.run_id
                    and r.claim_no = p.claim_no
                limit 1
            ) as r
            where p.run_id = any(v_locked)
            order by p.run_id
        );
        perform dispatch._move_runs(
            p_workspace_id, v_locked, 'running', false, v_leases, dispatch.clock()
        );
        perform dispatch._settle_owed(p_workspace_id, v_locked);
    end if;
    return dispatch._answer_reports(p_workspace_id, p_reports, v_locked, 'running', null);
end;
$fn$;

comment on function dispatch._start_runs(uuid, dispatch._report[]) is
$doc$Move claimed runs to running and queue follow-ups for what came too late for their claims.

Returns a transition a report, in the order given.
Errors: none.$doc$;

-- Locks: issues and agents of runs that owe wakes, then run rows by id. The plan settings hold
-- for everything that this function calls: a plan made while the tables are empty is kept, and
-- must walk the same indexes as one made over a million rows.
create or replace function dispatch._start_runs(
    p_workspace_id uuid,
    p_reports dispatch._report[]
)
returns setof dispatch.transition
language plpgsql
volatile
parallel unsafe
rows 10
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
    v_runs constant uuid[] := array(select p.run_id from unnest(p_reports) as p);
    v_locked uuid[];
    v_report record;
    v_now timestamptz;
begin
    perform dispatch._lock_owing(p_workspace_id, v_runs);
    v_locked := dispatch._lock_runs(
        p_workspace_id, p_reports, '{dispatched,waiting_local_directory}'
    );
    v_now := dispatch.clock();
    for v_report in
        select p.run_id, p.claim_no, p.lease
        from dispatch._first_reports(p_reports) as p
        where p.run_id = any(v_locked)
    loop
        update dispatch.run as r
        set
            status = 'running',
            started_at = v_now,
            lease_expires_at = v_now + v_report.lease
        where r.workspace_id = p_workspace_id
            and r.id = v_report.run_id
            and r.claim_no = v_report.claim_no;
    end loop;
    perform dispatch._settle_owed(p_workspace_id, v_locked);
    if cardinality(v_locked) = cardinality(p_reports) then
        return query
        select
            true, p.run_id, 'running'::dispatch.run_status, p.claim_no, null::uuid, null::text,
            d.follow_up_run_id
        from unnest(p_reports) as p
        cross join lateral (
            select s.follow_up_run_id
            from dispatch.run_detail as s
            where s.workspace_id = p_workspace_id and s.run_id = p.run_id
            limit 1
        ) as d
        order by p.ord;
        return;
    end if;
    return query
    select
        t.applied, t.run_id, t.status, t.claim_no, t.retry_run_id, t.reason, t.follow_up_run_id
    from dispatch._transitions(p_workspace_id, p_reports, v_locked, null) as t;
end;
$fn$;

comment on function dispatch._start_runs(uuid, dispatch._report[]) is
$doc$Move claimed runs to running and queue follow-ups for what came too late for their claims.

Returns a transition a report, in the order given.
Errors: none.$doc$;

-- Locks: run rows FOR NO KEY UPDATE by id, so that two batches over the same runs wait and
-- never deadlock. A row that passed the test under its lock keeps passing it until the
-- transaction ends.
create or replace function dispatch._lock_runs(
    p_workspace_id uuid,
    p_reports dispatch._report[],
    p_statuses dispatch.run_status[]
)
returns uuid[]
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_report dispatch._report;
begin
    if cardinality(p_reports) = 1 then
        v_report := p_reports[1];
        perform
        from dispatch.run as r
        where r.workspace_id = p_workspace_id
            and r.id = v_report.run_id
            and r.claim_no = v_report.claim_no
            and r.status = any(p_statuses)
        for no key update;
        return case when found then array[v_report.run_id] else '{}'::uuid[] end;
    end if;
    return array(
        select r.id
        from (
            select p.run_id, p.claim_no
            from dispatch._first_reports(p_reports) as p
            order by p.run_id
        ) as p
        cross join lateral (
            select s.id
            from dispatch.run as s
            where s.workspace_id = p_workspace_id
                and s.id = p.run_id
                and s.claim_no = p.claim_no
                and s.status = any(p_statuses)
            limit 1
            for no key update
        ) as r
    );
end;
$fn$;

comment on function dispatch._lock_runs(uuid, dispatch._report[], dispatch.run_status[]) is
$doc$Lock and give the runs that carry the reported claim number and stand in one of the
statuses, by id.

Errors: none.$doc$;

-- Looks before it writes, since most runs report nothing to keep and an update that meets no
-- row costs as much to set up as one that does.
create or replace function dispatch._keep_results(
    p_workspace_id uuid,
    p_reports dispatch._report[],
    p_moved uuid[]
)
returns void
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_report record;
begin
    for v_report in
        select p.run_id, p.result, p.session_id, p.work_dir, p.session_lost
        from dispatch._first_reports(p_reports) as p
        cross join lateral (
            select d.session_id, d.work_dir
            from dispatch.run_detail as d
            where d.workspace_id = p_workspace_id and d.run_id = p.run_id
            limit 1
        ) as d
        where p.run_id = any(p_moved)
            and num_nonnulls(
                p.result, p.session_id, p.work_dir, d.session_id, d.work_dir
            ) > 0
            and exists (
                select
                from dispatch.run as r
                where r.workspace_id = p_workspace_id
                    and r.id = p.run_id
                    and r.claim_no = p.claim_no
            )
    loop
        update dispatch.run_detail as d
        set
            result = v_report.result,
            session_id = case when not v_report.session_lost then v_report.session_id end,
            work_dir = v_report.work_dir
        where d.workspace_id = p_workspace_id and d.run_id = v_report.run_id;
    end loop;
end;
$fn$;

comment on function dispatch._keep_results(uuid, dispatch._report[], uuid[]) is
$doc$Keep what the reports of these completed runs bring: of several reports about one claim the
first.

A run without result, session and work directory, before and after, writes nothing.
Errors: none.$doc$;

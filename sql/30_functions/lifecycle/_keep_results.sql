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
    v_report dispatch._report;
    v_session text;
    v_work_dir text;
    v_done uuid[] := '{}'::uuid[];
begin
    foreach v_report in array p_reports loop
        continue when not v_report.run_id = any(p_moved) or v_report.run_id = any(v_done);
        select d.session_id, d.work_dir
        into v_session, v_work_dir
        from dispatch.run as r
        cross join lateral (
            select s.session_id, s.work_dir
            from dispatch.run_detail as s
            where s.workspace_id = p_workspace_id and s.run_id = r.id
            limit 1
        ) as d
        where r.workspace_id = p_workspace_id
            and r.id = v_report.run_id
            and r.claim_no = v_report.claim_no;
        continue when not found;
        v_done := v_done || v_report.run_id;
        if num_nonnulls(
            v_report.result, v_report.session_id, v_report.work_dir, v_session, v_work_dir
        ) > 0 then
            update dispatch.run_detail as d
            set
                result = v_report.result,
                session_id = case
                    when not v_report.session_lost then v_report.session_id
                end,
                work_dir = v_report.work_dir
            where d.workspace_id = p_workspace_id and d.run_id = v_report.run_id;
        end if;
    end loop;
end;
$fn$;

comment on function dispatch._keep_results(uuid, dispatch._report[], uuid[]) is
$doc$Keep what the reports of these completed runs bring: of several reports about one claim the
first.

A run without result, session and work directory, before and after, writes nothing.
Errors: none.$doc$;

-- Where every report moved its run, which is nearly always so, all but the follow-up is known.
create or replace function dispatch._answer_reports(
    p_workspace_id uuid,
    p_reports dispatch._report[],
    p_moved uuid[],
    p_status dispatch.run_status,
    p_repeated dispatch.run_status
)
returns dispatch.transition[]
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_report dispatch._report;
    v_follow_up uuid;
    v_answers dispatch.transition[] := '{}'::dispatch.transition[];
begin
    if cardinality(p_moved) < cardinality(p_reports) then
        return array(
            select t
            from dispatch._transitions(p_workspace_id, p_reports, p_moved, p_repeated) as t
        );
    end if;
    foreach v_report in array p_reports loop
        select d.follow_up_run_id
        into v_follow_up
        from dispatch.run_detail as d
        where d.workspace_id = p_workspace_id and d.run_id = v_report.run_id;
        v_answers := v_answers || row(
            true, v_report.run_id, p_status, v_report.claim_no, null, null, v_follow_up
        )::dispatch.transition;
    end loop;
    return v_answers;
end;
$fn$;

comment on function dispatch._answer_reports(
    uuid, dispatch._report[], uuid[], dispatch.run_status, dispatch.run_status
) is
$doc$Answer reports of a start or a completion after the write, in the order given.

p_moved are the runs that this call moved to p_status; p_repeated as in _transitions.
Errors: none.$doc$;

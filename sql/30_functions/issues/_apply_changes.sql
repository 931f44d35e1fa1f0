create or replace function dispatch._apply_changes(
    p_issues dispatch.issue[],
    p_title text,
    p_status text,
    p_priority text,
    p_is_assigned boolean,
    p_assignee_type text,
    p_assignee_id uuid
)
returns dispatch.issue[]
language plpgsql
immutable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_issues dispatch.issue[] := p_issues;
    v_issue dispatch.issue;
begin
    for v_i in 1..cardinality(p_issues) loop
        v_issue := p_issues[v_i];
        v_issue.title := coalesce(p_title, v_issue.title);
        v_issue.status := coalesce(p_status, v_issue.status);
        v_issue.priority := coalesce(p_priority, v_issue.priority);
        if p_is_assigned then
            v_issue.assignee_type := p_assignee_type;
            v_issue.assignee_id := p_assignee_id;
            v_issue.assignment_generation := v_issue.assignment_generation + 1;
        end if;
        v_issues[v_i] := v_issue;
    end loop;
    return v_issues;
end;
$fn$;

comment on function dispatch._apply_changes(
    dispatch.issue[], text, text, text, boolean, text, uuid
) is
$doc$Give issues as they are once changes are written, in the same order, and write nothing.

A NULL field is not written; p_is_assigned tells that the assignee is. A written assignee counts
as an assignment even when it is the same one: the generation grows.
Errors: none.$doc$;

-- Only rows that differ are written. The caller holds all of them FOR NO KEY UPDATE, so what is
-- worked out from the rows given is what the update makes of them.
create or replace function dispatch._store_changes(
    p_workspace_id uuid,
    p_issues dispatch.issue[],
    p_title text,
    p_status text,
    p_priority text,
    p_is_assigned boolean,
    p_assignee_type text,
    p_assignee_id uuid,
    p_now timestamptz
)
returns dispatch.issue[]
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_issues dispatch.issue[] := dispatch._apply_changes(
        p_issues, p_title, p_status, p_priority, p_is_assigned, p_assignee_type, p_assignee_id
    );
    v_issue dispatch.issue;
    v_changed uuid[] := '{}'::uuid[];
begin
    for v_i in 1..cardinality(p_issues) loop
        v_issue := v_issues[v_i];
        if v_issue is distinct from p_issues[v_i] then
            v_issue.updated_at := p_now;
            v_issues[v_i] := v_issue;
            v_changed[cardinality(v_changed) + 1] := v_issue.id;
        end if;
    end loop;
    if cardinality(v_changed) > 0 then
        update dispatch.issue as i
        set
            title = coalesce(p_title, i.title),
            status = coalesce(p_status, i.status),
            priority = coalesce(p_priority, i.priority),
            assignee_type = case
                when p_is_assigned then p_assignee_type else i.assignee_type
            end,
            assignee_id = case when p_is_assigned then p_assignee_id else i.assignee_id end,
            assignment_generation = i.assignment_generation + p_is_assigned::integer,
            updated_at = p_now
        where i.workspace_id = p_workspace_id and i.id = any(v_changed);
    end if;
    return v_issues;
end;
$fn$;

comment on function dispatch._store_changes(
    uuid, dispatch.issue[], text, text, text, boolean, text, uuid, timestamptz
) is
$doc$Write changes into locked issues and give the rows after it, in the same order.

A NULL field is not written; p_is_assigned tells that the assignee is. A written assignee counts
as an assignment even when it is the same one: the generation grows. Any other field that is
equal already is no change, and a row without a change keeps its updated_at.
Errors: none.$doc$;

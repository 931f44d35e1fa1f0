-- Locks: the issue FOR KEY SHARE, so that it is not deleted before the transaction ends.
create or replace function dispatch._hold_issue(p_workspace_id uuid, p_issue_id uuid)
returns dispatch.issue
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_issue dispatch.issue;
begin
    select
        i.workspace_id, i.id, i.number, i.title, i.status, i.priority, i.assignee_type,
        i.assignee_id, i.assignment_generation, i.creator_type, i.creator_id, i.origin_type,
        i.origin_id, i.parent_id, i.stage, i.created_at, i.updated_at
    into v_issue
    from dispatch.issue as i
    where i.workspace_id = p_workspace_id and i.id = p_issue_id
    for key share;
    return v_issue;
end;
$fn$;

comment on function dispatch._hold_issue(uuid, uuid) is
$doc$Give an issue and keep it from being deleted; NULLs when there is none.

Errors: none.$doc$;

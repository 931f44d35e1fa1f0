-- Locks: the workspace's counter, then the parent FOR KEY SHARE, so that it is not deleted
-- before the insert.
create or replace function dispatch._insert_issue(
    p_workspace_id uuid,
    p_issue dispatch.issue
)
returns dispatch.issue
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_issue dispatch.issue := p_issue;
begin
    v_issue.number := dispatch._next_issue_number(p_workspace_id);
    if v_issue.parent_id is not null then
        perform
        from dispatch.issue as i
        where i.workspace_id = p_workspace_id and i.id = v_issue.parent_id
        for key share;
        if not found then
            perform dispatch._raise(
                'PD404', 'parent not found', 'p_parent_id', 'name an issue of the workspace.'
            );
        end if;
    end if;
    v_issue.created_at := dispatch.clock();
    v_issue.updated_at := v_issue.created_at;
    insert into dispatch.issue (
        workspace_id, id, number, title, status, priority, assignee_type, assignee_id,
        assignment_generation, creator_type, creator_id, origin_type, origin_id, parent_id,
        stage, created_at, updated_at
    )
    values (
        p_workspace_id, v_issue.id, v_issue.number, v_issue.title, v_issue.status,
        v_issue.priority, v_issue.assignee_type, v_issue.assignee_id,
        v_issue.assignment_generation, v_issue.creator_type, v_issue.creator_id,
        v_issue.origin_type, v_issue.origin_id, v_issue.parent_id, v_issue.stage,
        v_issue.created_at, v_issue.updated_at
    )
    on conflict (workspace_id, id) do nothing;
    if not found then
        perform dispatch._raise(
            'PD409', 'issue id taken', 'p_issue_id', 'leave it out or give another id.'
        );
    end if;
    return v_issue;
end;
$fn$;

comment on function dispatch._insert_issue(uuid, dispatch.issue) is
$doc$Number and insert an issue, and give it as it stands.

Errors: PD404 parent not found, PD409 issue id taken.$doc$;

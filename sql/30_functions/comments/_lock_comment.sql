-- Locks: the comment's issue FOR KEY SHARE, then the comment, with p_is_doomed FOR UPDATE and
-- else FOR NO KEY UPDATE, under which replies may still come.
create or replace function dispatch._lock_comment(
    p_workspace_id uuid,
    p_comment_id uuid,
    p_is_doomed boolean
)
returns dispatch.comment
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_comment dispatch.comment;
begin
    perform dispatch._hold_issue(p_workspace_id, (
        select c.issue_id
        from dispatch.comment as c
        where c.workspace_id = p_workspace_id and c.id = p_comment_id
    ));
    if p_is_doomed then
        perform
        from dispatch.comment as c
        where c.workspace_id = p_workspace_id and c.id = p_comment_id
        for update;
    end if;
    select
        c.workspace_id, c.id, c.issue_id, c.author_type, c.author_id, c.body, c.mentions,
        c.parent_id, c.source_run_id, c.created_at, c.updated_at
    into v_comment
    from dispatch.comment as c
    where c.workspace_id = p_workspace_id and c.id = p_comment_id
    for no key update;
    if not found then
        perform dispatch._raise(
            'PD404', 'comment not found', 'p_comment_id', 'name a comment of the workspace.'
        );
    end if;
    return v_comment;
end;
$fn$;

comment on function dispatch._lock_comment(uuid, uuid, boolean) is
$doc$Lock a comment and its issue, and give the comment.

Errors: PD404 comment not found.$doc$;

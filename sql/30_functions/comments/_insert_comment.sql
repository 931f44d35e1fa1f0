-- Locks: the parent FOR KEY SHARE, so that it is not deleted before the insert.
create or replace function dispatch._insert_comment(
    p_workspace_id uuid,
    p_comment dispatch.comment
)
returns void
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_now timestamptz;
begin
    if p_comment.parent_id is not null then
        perform
        from dispatch.comment as c
        where c.workspace_id = p_workspace_id
            and c.id = p_comment.parent_id
            and c.issue_id = p_comment.issue_id
        for key share;
        if not found then
            perform dispatch._raise(
                'PD404', 'parent not found', 'p_parent_id', 'name a comment of the issue.'
            );
        end if;
    end if;
    v_now := dispatch.clock();
    insert into dispatch.comment (
        workspace_id, id, issue_id, author_type, author_id, body, mentions, parent_id,
        source_run_id, created_at, updated_at
    )
    values (
        p_workspace_id, p_comment.id, p_comment.issue_id, p_comment.author_type,
        p_comment.author_id, p_comment.body, p_comment.mentions, p_comment.parent_id,
        p_comment.source_run_id, v_now, v_now
    );
end;
$fn$;

comment on function dispatch._insert_comment(uuid, dispatch.comment) is
$doc$Insert a comment; a parent must be of the same issue.

Errors: PD404 parent not found.$doc$;

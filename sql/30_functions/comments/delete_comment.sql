-- Locks: the issue, the comment and its replies, then agents and runs as _withdraw_comments has
-- it. The runs end before the comments go.
create or replace function dispatch.delete_comment(
    p_workspace_id uuid,
    p_comment_id uuid,
    p_actor_type text,
    p_actor_id uuid default null,
    p_acting_run_id uuid default null
)
returns setof dispatch.comment_answer
language plpgsql
volatile
parallel unsafe
rows 2
security definer
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_comment dispatch.comment;
    v_thread uuid[];
    v_answers dispatch.comment_answer[];
begin
    perform dispatch._check_ids(
        array['p_workspace_id', 'p_comment_id'], array[p_workspace_id, p_comment_id]
    );
    perform dispatch._require_workspace(p_workspace_id);
    perform dispatch._resolve_actor(p_workspace_id, p_actor_type, p_actor_id, p_acting_run_id);
    v_comment := dispatch._lock_comment(p_workspace_id, p_comment_id, true);
    v_thread := dispatch._lock_replies(p_workspace_id, p_comment_id);
    v_answers := dispatch._withdraw_comments(
        p_workspace_id, v_comment.issue_id, v_thread, '{}', 'comment deleted'
    );
    delete from dispatch.comment as c
    where c.workspace_id = p_workspace_id and c.id = any(v_thread);
    return query
    select
        w.comment_id, w.target_type, w.target_id, w.outcome, w.reason_code, w.run_id, w.agent_id
    from dispatch._comment_answers(p_comment_id, v_answers) as w;
end;
$fn$;

comment on function dispatch.delete_comment(uuid, uuid, text, uuid, uuid) is
$doc$Delete a comment with its replies, and take back what they have started.

Every run that has not ended and stands for one of them is cancelled (error "comment deleted"),
running ones too. What else it stood for is queued again without asking the gates: one row for
each other comment and agent, or one without a target, none/not_triggered. A rerun of a run that
has ended asks for all of its work all the same. Call it at READ COMMITTED, as edit_comment.
Rule: dispatch 3.5.
Errors: PD400 missing or all-zero argument; PD403 wrong actor; PD404 workspace or comment not
found; PD409 pending slot contended.$doc$;

-- Locks: the issue, the comment, then agents and runs as _withdraw_comments has it. Whom the
-- comment asks for work depends on its author, who may be woken on who edits it: a text that
-- somebody else has changed carries nobody's authority but theirs.
create or replace function dispatch.edit_comment(
    p_workspace_id uuid,
    p_comment_id uuid,
    p_body text,
    p_actor_type text,
    p_actor_id uuid default null,
    p_acting_run_id uuid default null,
    p_mentions jsonb default '[]'
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
    v_originator uuid;
    v_issue dispatch.issue;
    v_comment dispatch.comment;
    v_targets dispatch._target[];
    v_answers dispatch.comment_answer[] := '{}'::dispatch.comment_answer[];
begin
    perform dispatch._check_ids(
        array['p_workspace_id', 'p_comment_id'], array[p_workspace_id, p_comment_id]
    );
    perform dispatch._check_comment(p_body, coalesce(p_mentions, '[]'));
    perform dispatch._require_workspace(p_workspace_id);
    v_originator := dispatch._resolve_actor(
        p_workspace_id, p_actor_type, p_actor_id, p_acting_run_id
    );
    v_comment := dispatch._lock_comment(p_workspace_id, p_comment_id, false);
    if v_comment.body <> p_body or v_comment.mentions <> coalesce(p_mentions, '[]') then
        v_comment := dispatch._store_edit(
            p_workspace_id, v_comment, p_body, coalesce(p_mentions, '[]'), p_actor_type,
            p_actor_id, p_acting_run_id
        );
        v_issue := dispatch._hold_issue(p_workspace_id, v_comment.issue_id);
        v_targets := dispatch._judge_targets(
            p_workspace_id, v_issue, v_comment, p_actor_type, v_originator
        );
        v_answers := dispatch._withdraw_comments(
            p_workspace_id, v_issue.id, array[p_comment_id],
            array(select t.agent_id from unnest(v_targets) as t where t.code is null),
            'comment edited'
        );
        v_answers := v_answers || dispatch._wake_targets(
            p_workspace_id, v_issue, v_comment, v_targets, p_actor_type, p_actor_id,
            p_acting_run_id, false
        );
    end if;
    return query
    select
        w.comment_id, w.target_type, w.target_id, w.outcome, w.reason_code, w.run_id, w.agent_id
    from dispatch._comment_answers(p_comment_id, v_answers) as w;
end;
$fn$;

comment on function dispatch.edit_comment(
    uuid, uuid, text, text, uuid, uuid, jsonb
) is
$doc$Change a comment, take back what it has started, and wake whom it asks for work now.

p_body and p_mentions are those of add_comment and replace what is stored; where both are equal
already nothing happens. Every run that has not ended and stands for the comment is cancelled
(error "comment edited"), running ones too; what else it stood for is queued again, one row a
comment, without asking the gates. Then the comment is routed as add_comment routes its author's
words, on the authority of whoever edits it. An agent that edits its own comment renews the run
it came from, anybody else clears it. Call it at READ COMMITTED: a stricter transaction does not
see what a run that it cancels was asked meanwhile. Rule: dispatch 3.5.
Errors: PD400 missing, malformed or too long argument, COLUMN p_mentions[N].KEY for a mention;
PD403 wrong actor; PD404 workspace or comment not found; PD409 pending slot contended.$doc$;

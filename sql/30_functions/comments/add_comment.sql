-- Locks: the issue and the parent FOR KEY SHARE, then what admission locks (agents, runs).
create or replace function dispatch.add_comment(
    p_workspace_id uuid,
    p_issue_id uuid,
    p_body text,
    p_actor_type text,
    p_actor_id uuid default null,
    p_acting_run_id uuid default null,
    p_mentions jsonb default '[]',
    p_parent_id uuid default null
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
begin
    perform dispatch._check_ids(
        array['p_workspace_id', 'p_issue_id'], array[p_workspace_id, p_issue_id]
    );
    perform dispatch._check_comment(p_body, coalesce(p_mentions, '[]'));
    perform dispatch._check_optional_ids(array['p_parent_id'], array[p_parent_id]);
    perform dispatch._require_workspace(p_workspace_id);
    v_originator := dispatch._resolve_actor(
        p_workspace_id, p_actor_type, p_actor_id, p_acting_run_id
    );
    v_issue := dispatch._hold_issue(p_workspace_id, p_issue_id);
    if v_issue.id is null then
        perform dispatch._raise(
            'PD404', 'issue not found', 'p_issue_id', 'name an issue of the workspace.'
        );
    end if;
    v_comment.id := dispatch._uuid_v7(dispatch._uuid_tick());
    v_comment.issue_id := p_issue_id;
    v_comment.author_type := p_actor_type;
    v_comment.author_id := p_actor_id;
    v_comment.body := p_body;
    v_comment.mentions := coalesce(p_mentions, '[]');
    v_comment.parent_id := p_parent_id;
    v_comment.source_run_id := p_acting_run_id;
    perform dispatch._insert_comment(p_workspace_id, v_comment);
    return query
    select
        w.comment_id, w.target_type, w.target_id, w.outcome, w.reason_code, w.run_id, w.agent_id
    from dispatch._comment_answers(v_comment.id, dispatch._wake_targets(
        p_workspace_id, v_issue, v_comment,
        dispatch._judge_targets(
            p_workspace_id, v_issue, v_comment, p_actor_type, v_originator
        ),
        p_actor_type, p_actor_id, p_acting_run_id, true
    )) as w;
end;
$fn$;

comment on function dispatch.add_comment(
    uuid, uuid, text, text, uuid, uuid, jsonb, uuid
) is
$doc$Write a comment on an issue and wake whom it asks for work: one row a target.

p_body: at most 1 MiB. p_mentions: at most 1000 objects of type (agent, squad, member, all) and
id; p_parent_id makes it a reply. The first rule that fits decides, in any status of the issue:
a body that begins with the word /note wakes nobody; the agents and squads that are mentioned;
nobody for a mention of all or of members only; for an agent's or the system's comment the squad
that has the issue; for a reply to an agent that agent; for a reply to a member the first that
the thread's root mentions, else the agents that the root has woken; the assignee. A squad is
its leader's work, who must be online, and who does not wake itself (self_trigger_suppressed).
A run of the pair that is queued takes the wake whatever its age (coalesced), one that is
dispatched owes it (absorbed). Whoever may not be invoked, foreign and unknown ids included, is
blocked (invocation_not_allowed); an id that is no uuid is target_unavailable. Nobody woken is
one row without a target, none/not_triggered. The comment stands whatever becomes of its wakes.
Rule: dispatch 3.3 and 3.4; issue-to-run 5, 6 and 9.
Errors: PD400 missing, malformed or too long argument, COLUMN p_mentions[N].KEY for a mention;
PD403 wrong actor; PD404 workspace, issue or parent not found; PD409 pending slot
contended.$doc$;

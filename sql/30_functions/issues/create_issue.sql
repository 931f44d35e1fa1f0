-- Locks: the workspace's counter, the parent, then what admission locks (agents, runs).
-- Whatever can refuse the call is asked before the counter, for which all creators of the
-- workspace queue.
create or replace function dispatch.create_issue(
    p_workspace_id uuid,
    p_title text,
    p_actor_type text,
    p_actor_id uuid default null,
    p_acting_run_id uuid default null,
    p_status text default 'todo',
    p_priority text default 'none',
    p_assignee_type text default null,
    p_assignee_id uuid default null,
    p_issue_id uuid default null,
    p_handoff_note text default null,
    p_suppress_run boolean default false,
    p_parent_id uuid default null,
    p_stage integer default null
)
returns dispatch.issue_write
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_prefix constant text := dispatch._issue_prefix(p_workspace_id);
    v_originator uuid;
    v_issue dispatch.issue;
    v_decisions dispatch.decision[];
begin
    perform dispatch._check_new_issue(
        p_title, p_status, p_priority, p_assignee_type, p_assignee_id, p_issue_id, p_parent_id,
        p_stage
    );
    perform dispatch._check_run_options(p_handoff_note, p_suppress_run);
    v_originator := dispatch._resolve_actor(
        p_workspace_id, p_actor_type, p_actor_id, p_acting_run_id
    );
    perform dispatch._refuse_assignee('p_assignee_id', dispatch._assignee_refusal(
        p_workspace_id, 'p_assignee_id', p_assignee_type, p_assignee_id, p_actor_type,
        v_originator
    ));
    v_issue.workspace_id := p_workspace_id;
    v_issue.id := coalesce(p_issue_id, dispatch._uuid_v7(dispatch._uuid_tick()));
    v_issue.title := p_title;
    v_issue.status := p_status;
    v_issue.priority := p_priority;
    v_issue.assignee_type := p_assignee_type;
    v_issue.assignee_id := p_assignee_id;
    v_issue.assignment_generation := num_nonnulls(p_assignee_id)::bigint;
    v_issue.creator_type := p_actor_type;
    v_issue.creator_id := p_actor_id;
    v_issue.origin_type := case when p_acting_run_id is not null then 'agent_create' end;
    v_issue.origin_id := p_acting_run_id;
    v_issue.parent_id := p_parent_id;
    v_issue.stage := p_stage;
    v_issue := dispatch._insert_issue(p_workspace_id, v_issue);
    v_decisions := dispatch._wake_issues(
        p_workspace_id, array[v_issue], array[null::dispatch.issue], true,
        p_assignee_id is not null, p_actor_type, p_actor_id, p_acting_run_id, p_handoff_note,
        p_suppress_run
    );
    return dispatch._issue_answer(v_prefix, v_issue, v_decisions[1]);
end;
$fn$;

comment on function dispatch.create_issue(
    uuid, text, text, uuid, uuid, text, text, text, uuid, uuid, text, boolean, uuid, integer
) is
$doc$Create an issue and, when it has an agent or a squad as assignee, start that one's run.

p_title: at most 200 bytes. p_status: backlog, which starts nothing, todo, in_progress,
in_review, blocked, done or cancelled. p_priority: urgent, high, medium, low or none.
p_assignee_type: agent, squad or member, with p_assignee_id. p_issue_id: an id of the caller's,
else one is minted. p_handoff_note: at most 1 MiB, kept only if a run starts. p_suppress_run:
write only. p_parent_id and p_stage place the issue under another and among its siblings.
Answers with the identifier, the assignment generation (1 with an assignee, else 0) and what
became of the wake; none/not_triggered carries the predicate's word as "why" in detail. When
admission refuses the wake, the issue stands. An issue that an agent creates in a run names it
as its origin. Rule: issue-to-run 3.
Errors: PD400 missing, malformed or unknown argument, assignee no member or (DETAIL
target_unavailable) archived; PD403 wrong actor, or assignee not allowed (DETAIL
invocation_not_allowed); PD404 workspace or parent not found; PD409 issue id taken, or pending
slot contended.$doc$;

-- Locks: the issue, then what admission locks (agents, runs).
create or replace function dispatch.update_issue(
    p_workspace_id uuid,
    p_issue_id uuid,
    p_changes jsonb,
    p_actor_type text,
    p_actor_id uuid default null,
    p_acting_run_id uuid default null,
    p_handoff_note text default null,
    p_suppress_run boolean default false
)
returns dispatch.issue_write
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_writes dispatch.issue_write[];
begin
    perform dispatch._check_ids(
        array['p_workspace_id', 'p_issue_id'], array[p_workspace_id, p_issue_id]
    );
    v_writes := dispatch._write_issues(
        p_workspace_id, array[p_issue_id], p_changes, p_actor_type, p_actor_id, p_acting_run_id,
        p_handoff_note, p_suppress_run, false
    );
    return v_writes[1];
end;
$fn$;

comment on function dispatch.update_issue(
    uuid, uuid, jsonb, text, uuid, uuid, text, boolean
) is
$doc$Change an issue and start the run that the change asks for.

p_changes: an object with any of title, status, priority and assignee, the last null or an
object of type (agent, squad, member) and id; an empty object changes nothing. A written
assignee is an assignment even when it is the same one: the generation grows by one, also when
it is cleared. Other fields that are equal already are no change. p_handoff_note: at most 1 MiB,
kept only if a run starts. p_suppress_run: write only. No change of an issue cancels a run.
Answers with what became of the wake; none/not_triggered carries the predicate's word as "why"
in detail. When admission refuses the wake, the change stands. Rule: issue-to-run 3.
Errors: PD400 malformed argument, COLUMN p_changes.KEY for one of the changes, assignee no
member or (DETAIL target_unavailable) archived; PD403 wrong actor, or assignee not allowed
(DETAIL invocation_not_allowed); PD404 workspace or issue not found; PD409 pending slot
contended.$doc$;

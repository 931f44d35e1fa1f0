-- Locks nothing. The candidate issue has an id that nobody else has, so that no key, no slot
-- and no allowance is taken yet.
create or replace function dispatch.preview_create(
    p_workspace_id uuid,
    p_changes jsonb,
    p_actor_type text,
    p_actor_id uuid default null,
    p_acting_run_id uuid default null
)
returns setof dispatch.preview
language plpgsql
volatile
parallel unsafe
rows 1
security definer
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_change record;
    v_originator uuid;
    v_refusal dispatch.reason_code;
    v_issue dispatch.issue;
    v_decisions dispatch.decision[];
begin
    perform dispatch._check_ids(array['p_workspace_id'], array[p_workspace_id]);
    select c.status, c.priority, c.assignee_type, c.assignee_id
    into v_change
    from dispatch._read_changes(p_changes) as c;
    perform dispatch._require_workspace(p_workspace_id);
    v_originator := dispatch._resolve_actor(
        p_workspace_id, p_actor_type, p_actor_id, p_acting_run_id
    );
    v_refusal := dispatch._assignee_refusal(
        p_workspace_id, 'p_changes.assignee', v_change.assignee_type, v_change.assignee_id,
        p_actor_type, v_originator
    );
    if v_refusal is not null then
        v_decisions := array[
            row('blocked', v_refusal, null, null, null, null)::dispatch.decision
        ];
    else
        v_issue.workspace_id := p_workspace_id;
        v_issue.id := dispatch._uuid_v7(dispatch._uuid_tick());
        v_issue.status := coalesce(v_change.status, 'todo');
        v_issue.priority := coalesce(v_change.priority, 'none');
        v_issue.assignee_type := v_change.assignee_type;
        v_issue.assignee_id := v_change.assignee_id;
        v_issue.assignment_generation := num_nonnulls(v_change.assignee_id)::bigint;
        v_decisions := dispatch._wake_issues(
            p_workspace_id, array[v_issue], array[null::dispatch.issue], true,
            v_change.assignee_id is not null, p_actor_type, p_actor_id, p_acting_run_id, null,
            false, array[v_change.assignee_id]
        );
    end if;
    return query
    select
        r.issue_id, r.agent_id, r.source, r.will_run, r.outcome, r.reason_code, r.detail
    from dispatch._preview_rows(array[null::uuid], v_decisions) as r;
end;
$fn$;

comment on function dispatch.preview_create(uuid, jsonb, text, uuid, uuid) is
$doc$Tell what creating an issue would start, and write nothing: one row, without an issue id.

p_changes: the issue to be, an object with any of title, status (todo when left out), priority
(none) and assignee, as update_issue has it. outcome and reason_code are what create_issue would
answer, over all gates; will_run is outcome = queued. An assignee that create_issue would refuse
is blocked (invocation_not_allowed or target_unavailable), and no agent is named. Rule:
issue-to-run 3.
Errors: PD400 malformed argument, assignee no member; PD403 wrong actor; PD404 workspace not
found.$doc$;

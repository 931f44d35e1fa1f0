-- Locks nothing: what other sessions write meanwhile may still change the answer. The plans are
-- generic, as those of the write.
create or replace function dispatch.preview_update(
    p_workspace_id uuid,
    p_issue_ids uuid[],
    p_changes jsonb,
    p_actor_type text,
    p_actor_id uuid default null,
    p_acting_run_id uuid default null
)
returns setof dispatch.preview
language plpgsql
volatile
parallel unsafe
rows 10
security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $fn$
declare
    v_change record;
    v_originator uuid;
    v_refusal dispatch.reason_code;
    v_old dispatch.issue[];
    v_passed uuid[];
    v_decisions dispatch.decision[];
begin
    perform dispatch._check_ids(array['p_workspace_id'], array[p_workspace_id]);
    if p_issue_ids is null or array_position(p_issue_ids, null) is not null then
        perform dispatch._raise(
            'PD400', 'argument missing', 'p_issue_ids', 'give ids, none of them NULL.'
        );
    elsif cardinality(p_issue_ids) > dispatch.preview_limit() then
        perform dispatch._raise(
            'PD400', 'preview too long', 'p_issue_ids',
            format('at most %s ids.', dispatch.preview_limit())
        );
    end if;
    select c.title, c.status, c.priority, c.is_assigned, c.assignee_type, c.assignee_id
    into v_change
    from dispatch._read_changes(p_changes) as c;
    perform dispatch._require_workspace(p_workspace_id);
    v_originator := dispatch._resolve_actor(
        p_workspace_id, p_actor_type, p_actor_id, p_acting_run_id
    );
    if v_change.is_assigned then
        v_refusal := dispatch._assignee_refusal(
            p_workspace_id, 'p_changes.assignee', v_change.assignee_type, v_change.assignee_id,
            p_actor_type, v_originator
        );
    end if;
    v_old := array(
        select i
        from (
            select u.id, min(u.place) as place
            from unnest(p_issue_ids) with ordinality as u (id, place)
            group by u.id
        ) as g
        inner join dispatch.issue as i on i.workspace_id = p_workspace_id and i.id = g.id
        where i.workspace_id = p_workspace_id
        order by g.place
    );
    if v_refusal is not null then
        v_decisions := array_fill(
            row('blocked', v_refusal, null, null, null, null)::dispatch.decision,
            array[cardinality(v_old)]
        );
    else
        v_passed := case
            when v_change.is_assigned then array[v_change.assignee_id]
            else dispatch._passed_assignees(
                p_workspace_id, v_old, p_actor_type, v_originator
            )
        end;
        v_decisions := dispatch._wake_issues(
            p_workspace_id,
            dispatch._apply_changes(
                v_old, v_change.title, v_change.status, v_change.priority,
                v_change.is_assigned, v_change.assignee_type, v_change.assignee_id
            ),
            v_old, false, v_change.is_assigned, p_actor_type, p_actor_id, p_acting_run_id,
            null, false, v_passed
        );
    end if;
    return query
    select
        r.issue_id, r.agent_id, r.source, r.will_run, r.outcome, r.reason_code, r.detail
    from dispatch._preview_rows(
        array(select o.id from unnest(v_old) with ordinality as o order by o.ordinality),
        v_decisions
    ) as r;
end;
$fn$;

comment on function dispatch.preview_update(uuid, uuid[], jsonb, text, uuid, uuid) is
$doc$Tell what a change of issues would start, and write nothing: one row for each distinct id
that is found, in the order given.

p_issue_ids: at most 500; unknown and foreign ids have no row. p_changes: as update_issue has
them. outcome and reason_code are what the write would answer, over all gates; will_run is
outcome = queued. A promotion of an agent that the actor may not invoke is none/not_triggered
with "why": "not_invocable". An assignee that the write would refuse is blocked in each row
(invocation_not_allowed or target_unavailable), and no agent is named. Rule: issue-to-run 3.
Errors: PD400 malformed argument, more than 500 ids, assignee no member; PD403 wrong actor;
PD404 workspace not found.$doc$;

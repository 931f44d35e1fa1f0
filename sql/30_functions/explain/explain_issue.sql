-- Locks nothing. The wake that is explained is that of the present assignment as the issue's
-- creator would send it, since the issue does not keep who assigned it.
create or replace function dispatch.explain_issue(p_workspace_id uuid, p_issue_id uuid)
returns setof dispatch.explanation
language plpgsql
volatile
parallel unsafe
rows 20
security definer
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_now constant timestamptz := dispatch.clock();
    v_issue dispatch.issue;
    v_agent uuid;
    v_why text;
    v_run dispatch.run;
    v_wake dispatch.wake;
begin
    perform dispatch._require_workspace(p_workspace_id);
    perform dispatch._check_ids(array['p_issue_id'], array[p_issue_id]);
    select
        i.workspace_id, i.id, i.number, i.title, i.status, i.priority, i.assignee_type,
        i.assignee_id, i.assignment_generation, i.creator_type, i.creator_id, i.origin_type,
        i.origin_id, i.parent_id, i.stage, i.created_at, i.updated_at
    into v_issue
    from dispatch.issue as i
    where i.workspace_id = p_workspace_id and i.id = p_issue_id;
    if not found then
        perform dispatch._raise(
            'PD404', 'issue not found', 'p_issue_id', 'name an issue of the workspace.'
        );
    end if;
    if v_issue.assignee_type in ('agent', 'squad') then
        select t.agent_id, t.why
        into v_agent, v_why
        from dispatch._run_target(
            p_workspace_id, v_issue.assignee_type, v_issue.assignee_id
        ) as t;
        v_run := dispatch._standing_pair_run(p_workspace_id, p_issue_id, v_agent);
    end if;
    v_wake := dispatch._issue_wake(
        v_issue, v_agent,
        case when v_issue.assignee_type = 'squad' then v_issue.assignee_id end, 'assign',
        v_issue.creator_type, v_issue.creator_id,
        case when v_issue.origin_type = 'agent_create' then v_issue.origin_id end, null
    );

    return query
    select e.step, e.ok, e.reason_code, e.detail
    from dispatch._explain_predicate(
        p_workspace_id, v_issue, v_agent, v_why, v_run.id is not null
    ) as e;
    return query
    select e.step, e.ok, e.reason_code, e.detail
    from dispatch._explain_gates(p_workspace_id, v_wake, v_run.id, v_now) as e;
    return query
    select e.step, e.ok, e.reason_code, e.detail
    from dispatch._explain_claim(p_workspace_id, p_issue_id, v_agent, v_run, v_now) as e;
end;
$fn$;

comment on function dispatch.explain_issue(uuid, uuid) is
$doc$Explain why an issue is or is not being worked on, one row a step, in a wake's order.

Steps: assignee, status and target (the predicate, its word as "why" in detail); agent,
attribution, pause, duplicate, coalesce, pending_slot, allowance and insert (the gates of
admission); runtime, capacity, lane and queue (what a claim goes by). The first that is not ok
is what the issue waits for. ok is NULL when there is nothing to look at. The allowance is that
of agents: people have none. Rule: issue-to-run 5.
Errors: PD400 missing or all-zero argument; PD404 workspace or issue not found.$doc$;

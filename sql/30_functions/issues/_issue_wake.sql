-- Each assignment has a key of its own, since the generation grows with every one, so assigning
-- to A, B and A again wakes three times. A promotion has none: the pending slot keeps it
-- single.
create or replace function dispatch._issue_wake(
    p_issue dispatch.issue,
    p_agent_id uuid,
    p_squad_id uuid,
    p_source text,
    p_actor_type text,
    p_actor_id uuid,
    p_acting_run_id uuid,
    p_handoff_note text
)
returns dispatch.wake
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_wake dispatch.wake;
begin
    v_wake.agent_id := p_agent_id;
    v_wake.source := p_source;
    if p_source = 'assign' then
        v_wake.reason := 'task_assigned';
        v_wake.payload := jsonb_build_object(
            'task_id', p_issue.id,
            'actor_type', case when p_actor_type = 'agent' then 'agent' else 'user' end,
            'actor_id', p_actor_id
        );
        v_wake.idempotency_key := format(
            'task_assigned:%s:%s:%s', p_issue.id, p_agent_id, p_issue.assignment_generation
        );
    else
        v_wake.reason := 'task_promoted';
        v_wake.payload := jsonb_build_object('task_id', p_issue.id);
    end if;
    v_wake.issue_id := p_issue.id;
    v_wake.priority := dispatch._priority_rank(p_issue.priority);
    v_wake.coalesce := true;
    v_wake.actor_type := p_actor_type;
    v_wake.actor_id := p_actor_id;
    v_wake.acting_run_id := p_acting_run_id;
    v_wake.evidence_kind := 'issue_assignment';
    v_wake.evidence_id := p_issue.id;
    v_wake.squad_id := p_squad_id;
    v_wake.is_leader_run := p_squad_id is not null;
    v_wake.handoff_note := p_handoff_note;
    return v_wake;
end;
$fn$;

comment on function dispatch._issue_wake(
    dispatch.issue, uuid, uuid, text, text, uuid, uuid, text
) is
$doc$Make the wake of an assignment (source assign) or of a promotion (source status).

The payload of an assignment says who assigned: agent exactly when an agent acts.
Errors: none.$doc$;

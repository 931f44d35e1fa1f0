-- The write that is explained has no actor, so neither the invoke gate nor the rules about an
-- acting agent are asked.
create or replace function dispatch._explain_predicate(
    p_workspace_id uuid,
    p_issue dispatch.issue,
    p_agent_id uuid,
    p_target_why text,
    p_is_standing boolean
)
returns setof dispatch.explanation
language plpgsql
stable
parallel safe
rows 10
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_will record;
    v_has_target boolean;
    v_status_why text;
    v_target_why constant text := case when not p_is_standing then p_target_why end;
begin
    v_will := dispatch.will_enqueue_run(
        p_workspace_id, p_issue, null, true, true, true, 'system', p_check_access => false
    );
    v_has_target := v_will.why is null
        or v_will.why not in ('no_assignee', 'member_assignee');
    v_status_why := case
        when p_is_standing then null
        when v_will.why = 'parked_in_backlog' then v_will.why
        when p_issue.status in ('done', 'cancelled') then 'closed'
    end;
    return query
    select
        s.step, s.why is null,
        case when s.why is not null then 'not_triggered'::dispatch.reason_code end,
        jsonb_strip_nulls(s.detail || jsonb_build_object('why', s.why))
    from (
        values
            (
                'assignee', case when not v_has_target then v_will.why end,
                jsonb_build_object(
                    'assignee_type', p_issue.assignee_type, 'assignee_id', p_issue.assignee_id
                )
            ),
            ('status', v_status_why, jsonb_build_object('status', p_issue.status))
    ) as s (step, why, detail)
    union all
    select
        'target', case when v_has_target then v_target_why is null end,
        case when v_target_why is not null then 'not_triggered'::dispatch.reason_code end,
        jsonb_strip_nulls(jsonb_build_object('agent_id', p_agent_id, 'why', v_target_why));
end;
$fn$;

comment on function dispatch._explain_predicate(uuid, dispatch.issue, uuid, text, boolean) is
$doc$Explain what the predicate says to an assignment of the issue as it stands: steps assignee,
status, target.

p_agent_id and p_target_why are what _run_target gives for its assignee. A closed issue is not
ok, though a new assignment would start its run. p_is_standing: the run is there, so the status
and the target are no longer in its way.
Errors: none.$doc$;

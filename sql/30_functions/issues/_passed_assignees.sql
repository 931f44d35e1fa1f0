-- An agent and a squad may have one id: then both must pass.
create or replace function dispatch._passed_assignees(
    p_workspace_id uuid,
    p_issues dispatch.issue[],
    p_actor_type text,
    p_originator_id uuid
)
returns uuid[]
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    return array(
        select s.assignee_id
        from (
            select distinct i.assignee_type, i.assignee_id
            from unnest(p_issues) as i
            where i.assignee_type in ('agent', 'squad')
        ) as s
        group by s.assignee_id
        having bool_and(
            dispatch._assignee_refusal(
                p_workspace_id, 'p_issue_ids', s.assignee_type, s.assignee_id, p_actor_type,
                p_originator_id
            ) is distinct from 'invocation_not_allowed'
        )
    );
end;
$fn$;

comment on function dispatch._passed_assignees(uuid, dispatch.issue[], text, uuid) is
$doc$Give those assignees of issues, agents and squads, that the human at the top of the chain
may invoke.

Errors: none.$doc$;

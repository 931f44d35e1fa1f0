create or replace function dispatch._start_signal(
    p_workspace_id uuid,
    p_issue dispatch.issue,
    p_prev_status text,
    p_source text,
    p_status_changed boolean,
    p_actor_type text,
    p_acting_run_id uuid
)
returns text
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    if num_nulls(p_issue.assignee_type, p_issue.assignee_id) > 0 then
        return 'no_assignee';
    elsif p_issue.assignee_type not in ('agent', 'squad') then
        return 'member_assignee';
    elsif p_issue.status = 'backlog' then
        return 'parked_in_backlog';
    elsif p_source = 'assign' then
        return null;
    elsif not p_status_changed or p_prev_status is distinct from 'backlog' then
        return 'not_a_start_signal';
    elsif p_issue.status in ('done', 'cancelled') then
        return 'closed';
    elsif p_actor_type = 'agent' and p_acting_run_id is not null and exists (
        select from dispatch.run as r
        where r.workspace_id = p_workspace_id
            and r.id = p_acting_run_id
            and r.issue_id = p_issue.id
    ) then
        return 'self_loop';
    end if;
    return null;
end;
$fn$;

comment on function dispatch._start_signal(
    uuid, dispatch.issue, text, text, boolean, text, uuid
) is
$doc$Give the word with which a write is no signal to start work; NULL when it is one.

An agent that promotes the very issue of its acting run does not start itself again.
Errors: none.$doc$;

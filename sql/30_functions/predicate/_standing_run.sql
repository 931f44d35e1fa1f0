-- Two look-ups instead of one over four statuses: each fits the condition of one partial index.
create or replace function dispatch._standing_run(
    p_workspace_id uuid,
    p_issue dispatch.issue,
    p_agent_id uuid,
    p_source text,
    p_is_create boolean,
    p_actor_type text,
    p_actor_id uuid
)
returns text
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_is_self constant boolean := p_source = 'assign'
        and not p_is_create
        and p_issue.assignee_type = 'agent'
        and p_actor_type = 'agent'
        and p_actor_id is not distinct from p_agent_id;
begin
    if not v_is_self and p_source <> 'status' then
        return null;
    elsif exists (
        select from dispatch.run as r
        where r.workspace_id = p_workspace_id
            and r.agent_id = p_agent_id
            and r.issue_id = p_issue.id
            and r.status in ('queued', 'dispatched')
    ) then
        return case when v_is_self then 'active_self_assignment' else 'already_pending' end;
    elsif v_is_self and exists (
        select from dispatch.run as r
        where r.workspace_id = p_workspace_id
            and r.agent_id = p_agent_id
            and r.lane = p_issue.id
            and r.status in ('dispatched', 'waiting_local_directory', 'running')
    ) then
        return 'active_self_assignment';
    end if;
    return null;
end;
$fn$;

comment on function dispatch._standing_run(
    uuid, dispatch.issue, uuid, text, boolean, text, uuid
) is
$doc$Give the word with which a run of the pair that stands already keeps a write from starting
one.

A promotion is kept back by a run that was not started yet. An agent that assigns an issue to
itself is kept back by any active run of it there; a deferred run is not active. NULL when none
is in the way.
Errors: none.$doc$;

-- Locks nothing, reads no clock, writes nothing: what it answers is asked again by the agent
-- gate of admission, under the agent's lock. The invoke gate stands before the target's state,
-- so that a caller without the right learns nothing about it.
create or replace function dispatch.will_enqueue_run(
    p_workspace_id uuid,
    p_issue dispatch.issue,
    p_prev_status text,
    p_is_create boolean,
    p_assignee_changed boolean,
    p_status_changed boolean,
    p_actor_type text,
    p_actor_id uuid default null,
    p_acting_run_id uuid default null,
    p_check_access boolean default true,
    out will_run boolean,
    out agent_id uuid,
    out squad_id uuid,
    out source text,
    out why text
)
language plpgsql
stable
parallel safe
security definer
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_agent uuid;
    v_source text;
begin
    perform dispatch._check_ids(array['p_workspace_id'], array[p_workspace_id]);
    if num_nulls(
        p_issue.status, p_is_create, p_assignee_changed, p_status_changed, p_actor_type,
        p_check_access
    ) > 0 then
        perform dispatch._check_given(
            array[
                'p_issue', 'p_is_create', 'p_assignee_changed', 'p_status_changed',
                'p_actor_type', 'p_check_access'
            ],
            array[
                p_issue.status is not null, p_is_create is not null,
                p_assignee_changed is not null, p_status_changed is not null,
                p_actor_type is not null, p_check_access is not null
            ]
        );
    end if;
    v_source := case when p_is_create or p_assignee_changed then 'assign' else 'status' end;
    will_run := false;
    why := dispatch._start_signal(
        p_workspace_id, p_issue, p_prev_status, v_source, p_status_changed, p_actor_type,
        p_acting_run_id
    );
    if why is not null then
        return;
    end if;

    select t.agent_id, t.why
    into v_agent, why
    from dispatch._run_target(p_workspace_id, p_issue.assignee_type, p_issue.assignee_id) as t;
    if p_check_access and not dispatch._may_invoke(
        p_workspace_id, v_agent, p_actor_type,
        dispatch._resolve_actor(p_workspace_id, p_actor_type, p_actor_id, p_acting_run_id)
    ) then
        why := 'not_invocable';
    elsif why is null then
        why := dispatch._standing_run(
            p_workspace_id, p_issue, v_agent, v_source, p_is_create, p_actor_type, p_actor_id
        );
    end if;
    if why is null then
        will_run := true;
        agent_id := v_agent;
        squad_id := case when p_issue.assignee_type = 'squad' then p_issue.assignee_id end;
        source := v_source;
    end if;
end;
$fn$;

comment on function dispatch.will_enqueue_run(
    uuid, dispatch.issue, text, boolean, boolean, boolean, text, uuid, uuid, boolean
) is
$doc$Decide whether a write to an issue starts a run, and of which agent.

p_issue is the row after the write, p_prev_status its status before. Creating an issue and
writing its assignee are an assignment (source assign), which backlog alone parks; else only
leaving backlog for an open status starts a run (source status). A squad's run is its leader's.
why is NULL when will_run, else the first word that fits: no_assignee, member_assignee,
parked_in_backlog, not_a_start_signal, closed, self_loop, not_invocable, archived, unbound,
runtime_unusable (for a squad first squad_unavailable, last leader_offline),
active_self_assignment, already_pending; the other columns are then NULL. p_check_access false
skips the invoke gate, which a write asks for itself. Rule: issue-to-run 3.
Errors: PD400 missing argument; with p_check_access also those of a wrong actor (PD400,
PD403).$doc$;

-- The stored status of a leader's runtime counts, not its age: the predicate reads no clock.
create or replace function dispatch._run_target(
    p_workspace_id uuid,
    p_assignee_type text,
    p_assignee_id uuid,
    out agent_id uuid,
    out why text
)
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_is_squad constant boolean := p_assignee_type = 'squad';
    v_wanted uuid := p_assignee_id;
    v_squad_archived_at timestamptz;
    v_archived_at timestamptz;
    v_runtime uuid;
    v_status text;
    v_offline_reason text;
begin
    if v_is_squad then
        select s.leader_id, s.archived_at
        into v_wanted, v_squad_archived_at
        from dispatch.squad as s
        where s.workspace_id = p_workspace_id and s.id = p_assignee_id;
    end if;
    select a.id, a.archived_at, a.runtime_id, rt.status, rt.offline_reason
    into agent_id, v_archived_at, v_runtime, v_status, v_offline_reason
    from dispatch.agent as a
    left join dispatch.runtime as rt
        on rt.workspace_id = p_workspace_id and rt.id = a.runtime_id
    where a.workspace_id = p_workspace_id and a.id = v_wanted;
    why := case
        when v_is_squad and (
            agent_id is null or v_squad_archived_at is not null or v_archived_at is not null
        ) then 'squad_unavailable'
        when v_archived_at is not null then 'archived'
        when v_runtime is null then 'unbound'
        when v_status = 'offline' and v_offline_reason = 'not_executable'
            then 'runtime_unusable'
        when v_is_squad and v_status is distinct from 'online' then 'leader_offline'
    end;
    agent_id := coalesce(agent_id, p_assignee_id);
end;
$fn$;

comment on function dispatch._run_target(uuid, text, uuid) is
$doc$Give the agent that would run an assignee's work, and the word with which it cannot.

The agent itself, or a squad's leader. An agent may be offline, since its run waits; a squad
needs its leader's runtime online. An assignee that is not in the workspace is answered with its
own id, which no invoke gate admits.
Errors: none.$doc$;

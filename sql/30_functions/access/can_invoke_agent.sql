create or replace function dispatch.can_invoke_agent(
    p_workspace_id uuid,
    p_agent_id uuid,
    p_actor_type text,
    p_actor_id uuid default null,
    p_acting_run_id uuid default null,
    p_originator_id uuid default null
)
returns boolean
language plpgsql
stable
parallel safe
security definer
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_user uuid;
begin
    perform dispatch._check_ids(
        array['p_workspace_id', 'p_agent_id'], array[p_workspace_id, p_agent_id]
    );
    perform dispatch._check_word(
        'p_actor_type', p_actor_type, array['user', 'agent', 'system']
    );
    perform dispatch._check_optional_ids(
        array['p_actor_id', 'p_acting_run_id', 'p_originator_id'],
        array[p_actor_id, p_acting_run_id, p_originator_id]
    );
    if p_actor_type = 'agent' and p_actor_id is null then
        perform dispatch._raise(
            'PD400', 'argument missing', 'p_actor_id', 'an acting agent must be named.'
        );
    end if;
    v_user := case p_actor_type
        when 'user' then p_actor_id
        when 'agent' then coalesce(
            dispatch._acting_run_originator(p_workspace_id, p_actor_id, p_acting_run_id),
            p_originator_id
        )
        else p_originator_id
    end;
    return dispatch._may_invoke(p_workspace_id, p_agent_id, p_actor_type, v_user);
end;
$fn$;

comment on function dispatch.can_invoke_agent(uuid, uuid, text, uuid, uuid, uuid) is
$doc$Tell whether an actor may start an agent.

A user is judged by themselves, an agent or the system by the originator: that of the acting
run, else p_originator_id. The owner may; with permission public_to also those whom a grant
names: a workspace grant admits members, agents and the system, a member grant that member, a
team grant whoever is in the team. Roles grant nothing. An unknown or foreign agent is false
like a private one. Rule: issue-to-run 6.
Errors: PD400 missing, unknown or all-zero argument; PD403 (DETAIL attribution_blocked) the
acting run is not an active run of the acting agent.$doc$;

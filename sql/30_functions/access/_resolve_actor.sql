-- An acting run proves for whom an agent acts, so one that is unknown, ended or another agent's
-- is refused whole instead of being ignored.
create or replace function dispatch._resolve_actor(
    p_workspace_id uuid,
    p_actor_type text,
    p_actor_id uuid,
    p_acting_run_id uuid,
    out originator_id uuid
)
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    perform dispatch._check_word(
        'p_actor_type', p_actor_type, array['user', 'agent', 'system']
    );
    perform dispatch._check_optional_ids(
        array['p_actor_id', 'p_acting_run_id'], array[p_actor_id, p_acting_run_id]
    );
    if p_actor_type = 'agent' and p_actor_id is null then
        perform dispatch._raise(
            'PD400', 'argument missing', 'p_actor_id', 'an acting agent must be named.'
        );
    elsif p_actor_type <> 'agent' and p_acting_run_id is not null then
        perform dispatch._raise(
            'PD400', 'run given for no agent', 'p_acting_run_id', 'only an agent acts in a run.'
        );
    end if;

    if p_actor_type = 'user' and p_actor_id is not null then
        if not exists (
            select from dispatch.member as m
            where m.workspace_id = p_workspace_id and m.user_id = p_actor_id
        ) then
            perform dispatch._raise(
                'PD403', 'actor is no member', 'p_actor_id', 'act as a member of the workspace.'
            );
        end if;
        originator_id := p_actor_id;
    elsif p_actor_type = 'agent' then
        if not exists (
            select from dispatch.agent as a
            where a.workspace_id = p_workspace_id and a.id = p_actor_id
        ) then
            perform dispatch._raise(
                'PD403', 'actor is no agent', 'p_actor_id', 'act as an agent of the workspace.'
            );
        end if;
        originator_id := dispatch._acting_run_originator(
            p_workspace_id, p_actor_id, p_acting_run_id
        );
    end if;
end;
$fn$;

comment on function dispatch._resolve_actor(uuid, text, uuid, uuid) is
$doc$Check who acts, and give the human at the top of the chain: NULL when nobody's.

A member acts for themselves, an agent for the originator of its acting run, the system and a
user without an id for nobody.
Errors: PD400 unknown word, missing or all-zero id, run given for no agent; PD403 actor is no
member or no agent of the workspace, or (DETAIL attribution_blocked) the acting run is not an
active run of the acting agent.$doc$;

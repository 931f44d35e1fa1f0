create or replace function dispatch._check_pause_actor(
    p_workspace_id uuid,
    p_actor_type text,
    p_actor_id uuid,
    p_acting_run_id uuid
)
returns void
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    perform dispatch._resolve_actor(
        p_workspace_id, p_actor_type, p_actor_id, p_acting_run_id
    );
    if p_actor_type = 'agent' then
        perform dispatch._raise(
            'PD403', 'agents may not pause or resume', 'p_actor_type', 'act as a member.'
        );
    end if;
end;
$fn$;

comment on function dispatch._check_pause_actor(uuid, text, uuid, uuid) is
$doc$Refuse whoever may not pause or resume a workspace: agents, and users who are no members.

Errors: PD400 as _resolve_actor; PD403 actor is an agent or no member.$doc$;

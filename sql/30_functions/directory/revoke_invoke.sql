create or replace function dispatch.revoke_invoke(
    p_workspace_id uuid,
    p_agent_id uuid,
    p_target_type text,
    p_target_id uuid default null
)
returns void
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_target uuid;
begin
    perform dispatch._require_workspace(p_workspace_id);
    v_target := dispatch._grant_target(p_workspace_id, p_agent_id, p_target_type, p_target_id);
    delete from dispatch.agent_grant as g
    where g.workspace_id = p_workspace_id
        and g.agent_id = p_agent_id
        and g.target_type = p_target_type
        and g.target_id = v_target;
end;
$fn$;

comment on function dispatch.revoke_invoke(uuid, uuid, text, uuid) is
$doc$Take back what grant_invoke gave; the arguments are the same.

A grant that is not there changes nothing. Runs that were admitted stay.
Errors: PD400 missing, unknown or all-zero argument; PD404 workspace not found.$doc$;

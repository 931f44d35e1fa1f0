create or replace function dispatch._grant_target(
    p_workspace_id uuid,
    p_agent_id uuid,
    p_target_type text,
    p_target_id uuid
)
returns uuid
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    perform dispatch._check_ids(array['p_agent_id'], array[p_agent_id]);
    perform dispatch._check_word(
        'p_target_type', p_target_type, array['workspace', 'member', 'team']
    );
    if p_target_type = 'workspace' and p_target_id is null then
        return p_workspace_id;
    end if;
    perform dispatch._check_ids(array['p_target_id'], array[p_target_id]);
    return p_target_id;
end;
$fn$;

comment on function dispatch._grant_target(uuid, uuid, text, uuid) is
$doc$Check the arguments that name a grant, and give its target's id: the workspace's own by
default.

Errors: PD400 missing, unknown or all-zero argument.$doc$;

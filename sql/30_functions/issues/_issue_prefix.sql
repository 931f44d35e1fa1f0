create or replace function dispatch._issue_prefix(p_workspace_id uuid)
returns text
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_prefix text;
begin
    perform dispatch._check_ids(array['p_workspace_id'], array[p_workspace_id]);
    select w.issue_prefix
    into v_prefix
    from dispatch.workspace as w
    where w.id = p_workspace_id;
    if not found then
        perform dispatch._raise(
            'PD404', 'workspace not found', 'p_workspace_id',
            'make it with put_workspace first.'
        );
    end if;
    return v_prefix;
end;
$fn$;

comment on function dispatch._issue_prefix(uuid) is
$doc$Give the leading letters of a workspace's identifiers.

Errors: PD400 argument missing or all-zero id, PD404 workspace not found.$doc$;

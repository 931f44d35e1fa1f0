-- Locks: the workspace FOR KEY SHARE, as the foreign key of any new row would. A teardown,
-- which locks it FOR UPDATE, is thus waited for here and ends in the error of an unknown
-- workspace.
create or replace function dispatch._hold_workspace(p_workspace_id uuid)
returns void
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    perform dispatch._check_ids(array['p_workspace_id'], array[p_workspace_id]);
    perform from dispatch.workspace as w where w.id = p_workspace_id for key share;
    if not found then
        perform dispatch._raise(
            'PD404', 'workspace not found', 'p_workspace_id',
            'make it with put_workspace first.'
        );
    end if;
end;
$fn$;

comment on function dispatch._hold_workspace(uuid) is
$doc$Refuse an unknown workspace, and keep a known one from being deleted until the transaction
ends.

Errors: PD400 argument missing or all-zero id, PD404 workspace not found.$doc$;

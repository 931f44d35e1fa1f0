-- Locks: the workspace row, to the end of the transaction: the counter is what creators queue
-- for, so it is taken as late as the lock order allows.
create or replace function dispatch._next_issue_number(p_workspace_id uuid)
returns bigint
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_number bigint;
begin
    update dispatch.workspace as w
    set issue_counter = w.issue_counter + 1
    where w.id = p_workspace_id
    returning w.issue_counter into v_number;
    if not found then
        perform dispatch._raise(
            'PD404', 'workspace not found', 'p_workspace_id',
            'make it with put_workspace first.'
        );
    end if;
    return v_number;
end;
$fn$;

comment on function dispatch._next_issue_number(uuid) is
$doc$Take the next issue number of a workspace.

Errors: PD404 the workspace was deleted meanwhile.$doc$;

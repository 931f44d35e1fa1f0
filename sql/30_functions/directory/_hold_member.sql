-- Locks: the member FOR KEY SHARE. Whoever needs members and agents locks the members first.
create or replace function dispatch._hold_member(p_workspace_id uuid, p_user_id uuid)
returns boolean
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    perform
    from dispatch.member as m
    where m.workspace_id = p_workspace_id and m.user_id = p_user_id
    for key share;
    return found;
end;
$fn$;

comment on function dispatch._hold_member(uuid, uuid) is
$doc$Tell whether somebody is a member, and keep them one until the transaction ends.

Errors: none.$doc$;

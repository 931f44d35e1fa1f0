create or replace function dispatch.put_member(
    p_workspace_id uuid,
    p_user_id uuid,
    p_name text,
    p_role text default null
)
returns void
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_now timestamptz;
begin
    perform dispatch._hold_workspace(p_workspace_id);
    perform dispatch._check_ids(array['p_user_id'], array[p_user_id]);
    perform dispatch._check_text('p_name', p_name, dispatch.name_limit());
    if p_role is not null then
        perform dispatch._check_word('p_role', p_role, array['owner', 'admin', 'member']);
    end if;
    v_now := dispatch.clock();
    insert into dispatch.member as m (workspace_id, user_id, name, role, created_at)
    values (p_workspace_id, p_user_id, p_name, coalesce(p_role, 'member'), v_now)
    on conflict (workspace_id, user_id) do update
    set
        name = p_name,
        role = coalesce(p_role, m.role)
    where (m.name, m.role) is distinct from (p_name, coalesce(p_role, m.role));
end;
$fn$;

comment on function dispatch.put_member(uuid, uuid, text, text) is
$doc$Store a human of the workspace, or change what is given.

p_role is owner, admin or member, the first default; NULL keeps it. A role never grants the
right to invoke an agent. Repeating a call changes nothing.
Errors: PD400 missing or all-zero argument, name too long, unknown role; PD404 workspace not
found.$doc$;

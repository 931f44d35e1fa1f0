create or replace function dispatch.put_runtime(
    p_workspace_id uuid,
    p_runtime_id uuid,
    p_daemon_id text,
    p_name text default null
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
    perform dispatch._check_ids(array['p_runtime_id'], array[p_runtime_id]);
    perform dispatch._check_text('p_daemon_id', p_daemon_id, dispatch.name_limit());
    if p_name is not null then
        perform dispatch._check_text('p_name', p_name, dispatch.name_limit());
    end if;
    perform
    from dispatch.runtime as r
    where r.workspace_id = p_workspace_id and r.id = p_runtime_id
    for no key update;
    v_now := dispatch.clock();
    insert into dispatch.runtime as r (
        workspace_id, id, daemon_id, name, status, created_at, updated_at
    )
    values (
        p_workspace_id, p_runtime_id, p_daemon_id, coalesce(p_name, p_daemon_id), 'offline',
        v_now, v_now
    )
    on conflict (workspace_id, id) do update
    set
        daemon_id = p_daemon_id,
        name = coalesce(p_name, r.name),
        updated_at = v_now
    where (r.daemon_id, r.name) is distinct from (p_daemon_id, coalesce(p_name, r.name));
end;
$fn$;

comment on function dispatch.put_runtime(uuid, uuid, text, text) is
$doc$Store a runtime of a daemon, or change what is given.

It is offline until its first heartbeat; a change leaves its status alone. p_name NULL keeps the
name, which is the daemon's at first. Repeating a call changes nothing.
Errors: PD400 missing or all-zero argument, text too long; PD404 workspace not found.$doc$;

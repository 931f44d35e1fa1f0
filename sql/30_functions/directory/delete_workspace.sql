-- Locks: workspace, issues, agents and unfinished runs FOR UPDATE, each by id. The workspace
-- lock stops every write to the directory and every new issue, the agent locks every enqueue;
-- issues come before agents because a write to an issue holds it while it waits for its agent.
create or replace function dispatch.delete_workspace(
    p_workspace_id uuid,
    p_actor_type text,
    p_actor_id uuid default null,
    p_acting_run_id uuid default null
)
returns integer
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_cancelled integer;
begin
    perform dispatch._require_workspace(p_workspace_id);
    perform dispatch._resolve_actor(p_workspace_id, p_actor_type, p_actor_id, p_acting_run_id);
    perform from dispatch.workspace as w where w.id = p_workspace_id for update;
    if not found then
        perform dispatch._require_workspace(p_workspace_id);
    end if;
    if p_actor_type <> 'system' and not exists (
        select from dispatch.member as m
        where m.workspace_id = p_workspace_id
            and p_actor_type = 'user'
            and m.user_id = p_actor_id
            and m.role in ('owner', 'admin')
    ) then
        perform dispatch._raise(
            'PD403', 'actor may not delete the workspace', 'p_actor_id',
            'act as an owner or admin of the workspace, or as the system.'
        );
    end if;

    perform
    from dispatch.issue as i
    where i.workspace_id = p_workspace_id
    order by i.id
    for update;
    perform
    from dispatch.agent as a
    where a.workspace_id = p_workspace_id
    order by a.id
    for update;
    perform
    from dispatch.run as r
    where r.workspace_id = p_workspace_id
        and r.status not in ('completed', 'failed', 'cancelled')
    order by r.id
    for update;
    get diagnostics v_cancelled = row_count;
    perform dispatch._delete_rows(p_workspace_id);
    return v_cancelled;
end;
$fn$;

comment on function dispatch.delete_workspace(uuid, text, uuid, uuid) is
$doc$Delete a workspace and all that is in it, and return how many unfinished runs that ended.

An owner or admin of the workspace may, and the system. Waits for calls that are writing to the
workspace. A daemon that reports one of its runs afterwards is told not_found.
Errors: PD400 missing, unknown or all-zero argument; PD403 the actor may not, is no member or no
agent of the workspace, or (DETAIL attribution_blocked) its acting run is not active; PD404
workspace not found.$doc$;

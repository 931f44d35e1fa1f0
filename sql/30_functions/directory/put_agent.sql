-- Locks: workspace, owner and runtime FOR KEY SHARE, the agent FOR UPDATE, then its waiting
-- runs. The insert comes first, since the row of a concurrent first call can only be seen by
-- waiting.
create or replace function dispatch.put_agent(
    p_workspace_id uuid,
    p_agent_id uuid,
    p_name text,
    p_owner_id uuid,
    p_runtime_id uuid default null,
    p_permission text default null,
    p_max_concurrent_runs integer default null
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
    perform dispatch._check_ids(
        array['p_agent_id', 'p_owner_id'], array[p_agent_id, p_owner_id]
    );
    perform dispatch._check_text('p_name', p_name, dispatch.name_limit());
    perform dispatch._check_optional_ids(array['p_runtime_id'], array[p_runtime_id]);
    if p_permission is not null then
        perform dispatch._check_word(
            'p_permission', p_permission, array['private', 'public_to']
        );
    end if;
    if p_max_concurrent_runs not between 1 and 50 then
        perform dispatch._raise(
            'PD400', 'capacity out of range', 'p_max_concurrent_runs', 'between 1 and 50.'
        );
    elsif not dispatch._hold_member(p_workspace_id, p_owner_id) then
        perform dispatch._raise(
            'PD400', 'owner is no member', 'p_owner_id', 'name a member of the workspace.'
        );
    end if;
    if p_runtime_id is not null then
        perform dispatch._hold_runtime(p_workspace_id, p_runtime_id);
    end if;

    v_now := dispatch.clock();
    insert into dispatch.agent (
        workspace_id, id, name, owner_id, runtime_id, permission, max_concurrent_runs, status,
        created_at
    )
    values (
        p_workspace_id, p_agent_id, p_name, p_owner_id, p_runtime_id,
        coalesce(p_permission, 'private'), coalesce(p_max_concurrent_runs, 6), 'active', v_now
    )
    on conflict (workspace_id, id) do nothing;
    if not found then
        perform dispatch._change_agent(
            p_workspace_id, p_agent_id, p_name, p_owner_id, p_runtime_id, p_permission,
            p_max_concurrent_runs
        );
    end if;
end;
$fn$;

comment on function dispatch.put_agent(uuid, uuid, text, uuid, uuid, text, integer) is
$doc$Store an agent, or change what is given.

p_owner_id must be a member. p_runtime_id NULL keeps the binding (bind_agent unbinds), another
runtime takes the agent's queued and deferred runs along. p_permission is private, the first
default, or public_to; p_max_concurrent_runs is between 1 and 50, first 6; NULL keeps either. A
first call makes it active. Repeating a call changes nothing. Rule: issue-to-run 4 and 6.
Errors: PD400 missing, unknown or all-zero argument, name too long, capacity out of range, owner
is no member; PD404 workspace or runtime not found; PD409 agent is archived.$doc$;

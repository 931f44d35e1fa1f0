-- Locks: the agent FOR UPDATE, then its runs by id. Its runs are looked for in a statement
-- after the lock, so that one whose enqueue was waited for is found.
create or replace function dispatch.archive_agent(p_workspace_id uuid, p_agent_id uuid)
returns integer
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_runs uuid[];
    v_now timestamptz;
begin
    perform dispatch._require_workspace(p_workspace_id);
    perform dispatch._check_ids(array['p_agent_id'], array[p_agent_id]);
    perform
    from dispatch.agent as a
    where a.workspace_id = p_workspace_id and a.id = p_agent_id
    for update;
    if not found then
        perform dispatch._raise(
            'PD404', 'agent not found', 'p_agent_id', 'name an agent of the workspace.'
        );
    end if;
    v_runs := dispatch._live_runs(p_workspace_id, p_agent_id);
    v_now := dispatch.clock();
    update dispatch.agent as a
    set archived_at = v_now
    where a.workspace_id = p_workspace_id and a.id = p_agent_id and a.archived_at is null;
    return dispatch._cancel_runs(p_workspace_id, v_runs, 'agent archived', v_now);
end;
$fn$;

comment on function dispatch.archive_agent(uuid, uuid) is
$doc$Retire an agent, cancel all its runs that have not ended, and return how many.

The runs keep the error "agent archived". Repeating a call keeps the first instant and returns
0. Rule: issue-to-run 4.
Errors: PD400 missing or all-zero argument, PD404 workspace or agent not found.$doc$;

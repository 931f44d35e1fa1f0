-- Locks: the agent FOR NO KEY UPDATE, skip locked: never waits, so it may be called while
-- others are held. What is counted in the statements after it holds until the commit.
create or replace function dispatch._hold_agent(
    p_workspace_id uuid,
    p_agent_id uuid,
    p_per_agent integer
)
returns integer
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_capacity integer;
    v_active bigint;
    v_has_retries boolean;
begin
    select case when a.status = 'active' then a.max_concurrent_runs else 0 end
    into v_capacity
    from dispatch.agent as a
    where a.workspace_id = p_workspace_id and a.id = p_agent_id
    for no key update skip locked;
    if not found then
        return null;
    elsif v_capacity = 0 or dispatch._workspace_is_paused(p_workspace_id) then
        return 0;
    end if;
    select
        (
            select count(*)
            from dispatch.run as b
            where b.workspace_id = p_workspace_id
                and b.agent_id = p_agent_id
                and b.status in ('dispatched', 'waiting_local_directory', 'running')
        ),
        exists (
            select
            from dispatch.run as d
            where d.workspace_id = p_workspace_id
                and d.agent_id = p_agent_id
                and d.status = 'deferred'
                and d.attempt > 1
                and d.claim_no = 0
                and d.issue_id is not null
        )
    into v_active, v_has_retries;
    -- Before the runs are handed out, so that they deliver what the retries stood for.
    if v_has_retries and v_active < v_capacity then
        perform dispatch._drop_superseded(
            p_workspace_id, array[p_agent_id], dispatch.clock()
        );
    end if;
    return greatest(least(p_per_agent, v_capacity - v_active), 0)::integer;
end;
$fn$;

comment on function dispatch._hold_agent(uuid, uuid, integer) is
$doc$Hold an agent until the transaction ends, and tell how many runs it may be handed now, at
most p_per_agent.

NULL when another claim holds it; 0 for an agent that is full or not active, and in a paused
workspace.
Errors: none.$doc$;

create or replace function dispatch._claim_held(
    p_workspace_id uuid,
    p_runtime_ids uuid[],
    p_agent_ids uuid[],
    p_max integer,
    p_per_agent integer,
    p_is_started boolean,
    p_lease interval
)
returns uuid[]
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_now constant timestamptz := dispatch.clock();
    v_fresh constant uuid[] := dispatch._fresh_runtimes(p_workspace_id, p_runtime_ids, v_now);
begin
    if cardinality(v_fresh) = 0 or dispatch._workspace_is_paused(p_workspace_id) then
        return '{}'::uuid[];
    end if;
    return dispatch._claim_queued(
        p_workspace_id, v_fresh, p_agent_ids, p_max, p_per_agent, p_is_started, p_lease, v_now
    );
end;
$fn$;

comment on function dispatch._claim_held(
    uuid, uuid[], uuid[], integer, integer, boolean, interval
) is
$doc$Claim for agents that the caller holds; reads the instant, the pause and the runtimes after
those locks.

Errors: none.$doc$;

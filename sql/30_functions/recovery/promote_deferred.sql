-- The plan settings hold for everything that this function calls: a plan made while the tables
-- are empty is kept, and must walk the same indexes as one made over a million rows.
create or replace function dispatch.promote_deferred(
    p_workspace_id uuid,
    p_runtime_ids uuid[] default null,
    p_max integer default 500
)
returns integer
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_material = off
set jit = off
as $fn$
declare
    v_runtimes uuid[] := p_runtime_ids;
    v_agents uuid[];
    v_now timestamptz;
begin
    perform dispatch._check_isolation();
    perform dispatch._require_workspace(p_workspace_id);
    perform dispatch._check_count('p_max', p_max);
    if v_runtimes is null then
        v_runtimes := array(
            select r.id from dispatch.runtime as r where r.workspace_id = p_workspace_id
        );
    end if;
    v_now := dispatch.clock();
    v_agents := dispatch._due_agents(p_workspace_id, v_runtimes, v_now, p_max)
    || dispatch._superseded_agents(p_workspace_id);
    if cardinality(v_agents) = 0 then
        return 0;
    end if;
    perform dispatch._lock_claim_agents(p_workspace_id, v_agents, true);
    v_now := dispatch.clock();
    return dispatch._promote_due(
        p_workspace_id,
        dispatch._fresh_runtimes(p_workspace_id, v_runtimes, v_now),
        v_agents, p_max, v_now
    );
end;
$fn$;

comment on function dispatch.promote_deferred(uuid, uuid[], integer) is
$doc$Queue deferred runs that are due, and return how many.

p_runtime_ids NULL means all runtimes of the workspace; unknown ids are ignored. At most p_max
runs. A run waits on while its runtime is not fresh, its issue and agent have a queued or
dispatched run, or the workspace is paused. Before that the workspace's automatic retries that
another run of their pair has replaced are cancelled, and that run gets their wakes. Rule:
issue-to-run 4.
Errors: PD400 missing argument, negative p_max, or a transaction stricter than READ COMMITTED
(COLUMN transaction_isolation); PD404 workspace not found.$doc$;

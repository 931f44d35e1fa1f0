-- Locks: the run's issue, its agent FOR UPDATE, so that no enqueue takes the slot meanwhile,
-- then the pair's waiting runs by id. The gates are asked before anything is cancelled, and not
-- again afterwards, so that a refusal leaves what is queued alone.
create or replace function dispatch.rerun(
    p_workspace_id uuid,
    p_run_id uuid,
    p_actor_type text,
    p_actor_id uuid default null,
    p_acting_run_id uuid default null
)
returns dispatch.decision
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_user uuid;
    v_wake dispatch.wake;
    v_gated dispatch._candidate[];
    v_decision dispatch.decision;
    v_waiting uuid[] := '{}'::uuid[];
    v_now timestamptz;
begin
    perform dispatch._check_ids(
        array['p_workspace_id', 'p_run_id'], array[p_workspace_id, p_run_id]
    );
    v_user := dispatch._resolve_actor(
        p_workspace_id, p_actor_type, p_actor_id, p_acting_run_id
    );
    perform dispatch._lock_run_owners(p_workspace_id, array[p_run_id], true);
    v_wake := dispatch._rerun_wake(
        p_workspace_id, p_run_id, p_actor_type, p_actor_id, p_acting_run_id
    );
    if v_wake.agent_id is null then
        perform dispatch._raise(
            'PD404', 'run not found', 'p_run_id', 'name a run of the workspace.'
        );
    elsif p_actor_type <> 'system'
        and not dispatch._may_invoke(p_workspace_id, v_wake.agent_id, p_actor_type, v_user)
    then
        perform dispatch._raise(
            'PD403', 'invocation not allowed', 'p_run_id',
            'act as somebody who may start the agent.', 'invocation_not_allowed'
        );
    end if;
    v_now := dispatch.clock();
    v_gated := dispatch._gate_wakes(p_workspace_id, array[v_wake], v_now);
    if v_gated[1].code is null then
        v_wake := v_gated[1].wake;
        v_wake.skip := v_wake.skip || array['agent', 'attribution', 'pause'];
        v_waiting := dispatch._waiting_runs(p_workspace_id, v_wake.agent_id, v_wake.issue_id);
        perform dispatch._cancel_runs(p_workspace_id, v_waiting, 'replaced by a rerun', v_now);
    end if;
    select d.outcome, d.reason_code, d.run_id, d.agent_id, d.source, d.detail
    into v_decision
    from dispatch._admit_wakes(p_workspace_id, array[v_wake]) as d;
    if v_decision.outcome = 'queued' then
        perform dispatch._inherit_wakes(
            p_workspace_id, array[p_run_id] || array_remove(v_waiting, p_run_id),
            v_decision.run_id
        );
    end if;
    return v_decision;
end;
$fn$;

comment on function dispatch.rerun(uuid, uuid, text, uuid, uuid) is
$doc$Ask for the work of a run once more, as an act of whoever asks.

The new run stands for what the old one stood for and starts without its session. What the pair
has queued, dispatched or deferred is cancelled and handed over; what is waiting or running is
left to end, and the new run comes after it. A refusal by a gate is data and leaves everything
as it was. Rule: issue-to-run 4.
Errors: PD400 missing, unknown or all-zero argument; PD403 (DETAIL invocation_not_allowed) the
actor may not start the agent, or the actor does not hold; PD404 run not found.$doc$;

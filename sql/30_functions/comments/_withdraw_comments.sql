-- Locks: agents FOR UPDATE by id, both those that the comments have woken and p_agent_ids, whom
-- the caller wakes next; then by id the runs that stand for the comments and those that hold
-- the agents' slots on the issue. So nothing that comes after has to wait out of order, and no
-- retry, follow-up or rerun carries a comment on behind the look for it. Nothing is locked when
-- the comments have woken nobody.
create or replace function dispatch._withdraw_comments(
    p_workspace_id uuid,
    p_issue_id uuid,
    p_comment_ids uuid[],
    p_agent_ids uuid[],
    p_reason text
)
returns dispatch.comment_answer[]
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $fn$
declare
    v_runs uuid[];
    v_agents uuid[];
    v_agent uuid;
    v_now timestamptz;
    v_answers dispatch.comment_answer[] := '{}'::dispatch.comment_answer[];
begin
    v_agents := dispatch._run_agents(
        p_workspace_id, dispatch._comment_runs(p_workspace_id, p_comment_ids)
    );
    if cardinality(v_agents) = 0 then
        return v_answers;
    end if;
    v_agents := v_agents || p_agent_ids;
    perform dispatch._lock_claim_agents(p_workspace_id, v_agents, true);
    v_runs := dispatch._planned_runs(p_workspace_id, p_comment_ids);
    perform dispatch._lock_plans(p_workspace_id, p_issue_id, v_agents, v_runs);
    -- Again, since a run that was waited for may have ended.
    v_runs := dispatch._planned_runs(p_workspace_id, p_comment_ids);
    v_now := dispatch.clock();
    perform dispatch._cancel_runs(p_workspace_id, v_runs, p_reason, v_now);
    foreach v_agent in array dispatch._run_agents(p_workspace_id, v_runs) loop
        v_answers := v_answers || dispatch._wake_kept(
            p_workspace_id, v_agent, v_runs, p_comment_ids
        );
    end loop;
    return v_answers;
end;
$fn$;

comment on function dispatch._withdraw_comments(uuid, uuid, uuid[], uuid[], text) is
$doc$Cancel every run that stands for one of these comments, and queue again what else those
runs stood for: one answer for each other comment and agent.

p_reason is kept as the runs' error. Rule: dispatch 3.5.
Errors: as _admit_wakes.$doc$;

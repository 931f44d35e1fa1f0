-- Locks: what the two inserts wait for. Rows go in by pair and by key, so that two batches wait
-- for each other in one order. Each insert yields to exactly its own index. The sources are
-- arrays of the tables' own rows: no wider than its target, a source is the cheapest to set up,
-- for one run and for a thousand.
create or replace function dispatch._insert_runs(
    p_workspace_id uuid,
    p_runs dispatch.run[],
    p_details dispatch.run_detail[]
)
returns bigint
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_details dispatch.run_detail[] := p_details;
    v_count bigint;
begin
    insert into dispatch.run (
        workspace_id, id, agent_id, runtime_id, issue_id, lane, status, priority, attempt,
        max_attempts, requested_at, fire_at
    )
    select
        r.workspace_id, r.id, r.agent_id, r.runtime_id, r.issue_id, r.lane, r.status,
        r.priority, r.attempt, r.max_attempts, r.requested_at, r.fire_at
    from unnest(p_runs) as r
    order by r.agent_id, r.issue_id, r.id
    on conflict (workspace_id, agent_id, issue_id)
    where status in ('queued', 'dispatched')
    do nothing;
    get diagnostics v_count = row_count;
    if v_count < cardinality(p_runs) then
        v_details := array(
            select d
            from unnest(p_details) as d
            where exists (
                select
                from dispatch.run as r
                where r.workspace_id = p_workspace_id and r.id = d.run_id
            )
        );
    end if;

    insert into dispatch.run_detail (
        workspace_id, run_id, issue_id, requested_at, reason, source, payload, idempotency_key,
        chat_session_id, autopilot_run_id, comment_id, parent_run_id, rerun_of_run_id,
        escalation_for_run_id, delegated_from_run_id, actor_type, actor_id, originator_id,
        accountable_id, attribution_source, evidence_kind, evidence_id, squad_id, is_leader_run,
        handoff_note, session_id, work_dir, force_fresh
    )
    select
        d.workspace_id, d.run_id, d.issue_id, d.requested_at, d.reason, d.source, d.payload,
        d.idempotency_key, d.chat_session_id, d.autopilot_run_id, d.comment_id, d.parent_run_id,
        d.rerun_of_run_id, d.escalation_for_run_id, d.delegated_from_run_id, d.actor_type,
        d.actor_id, d.originator_id, d.accountable_id, d.attribution_source, d.evidence_kind,
        d.evidence_id, d.squad_id, d.is_leader_run, d.handoff_note, d.session_id, d.work_dir,
        d.force_fresh
    from unnest(v_details) as d
    order by d.idempotency_key, d.run_id
    on conflict (workspace_id, idempotency_key)
    where idempotency_key is not null
    do nothing;
    get diagnostics v_count = row_count;
    return v_count;
end;
$fn$;

comment on function dispatch._insert_runs(uuid, dispatch.run[], dispatch.run_detail[]) is
$doc$Insert runs and their details, and tell how many of them got both.

The only place that inserts into run and run_detail. A run whose pending slot is taken gets
neither row, one whose key is taken keeps its run row for the caller to take back.
Errors: none.$doc$;

create or replace function dispatch._claimed_rows(
    p_workspace_id uuid,
    p_run_ids uuid[],
    p_reclaimed_ids uuid[]
)
returns setof dispatch.claimed_run
language plpgsql
volatile
parallel unsafe
rows 10
set search_path = pg_catalog, pg_temp
as $fn$
begin
    perform dispatch._deliver_triggers(p_workspace_id, p_run_ids);
    return query
    select
        r.id, r.workspace_id, r.agent_id, r.runtime_id, r.issue_id, d.chat_session_id,
        d.autopilot_run_id, r.claim_no, r.attempt, r.priority, d.reason, d.payload,
        coalesce(t.triggers, jsonb_build_array(dispatch._trigger_json(
            d.requested_at, 'queued', d.source, d.reason, d.payload, d.idempotency_key,
            d.comment_id, d.actor_type, d.actor_id, d.originator_id, 1
        ))),
        r.requested_at, r.dispatched_at, r.lease_expires_at, d.originator_id, d.accountable_id,
        d.attribution_source, d.is_leader_run, d.squad_id, d.handoff_note, d.session_id,
        d.work_dir, r.id = any(p_reclaimed_ids)
    from dispatch.run as r
    inner join dispatch.run_detail as d
        on d.workspace_id = r.workspace_id and d.run_id = r.id
    left join lateral (
        select jsonb_agg(
            dispatch._trigger_json(
                g.at, g.outcome, g.source, g.reason, g.payload, g.idempotency_key, g.comment_id,
                g.actor_type, g.actor_id, g.originator_id, g.count
            )
            order by g.seq
        ) as triggers
        from dispatch.run_trigger as g
        where g.workspace_id = p_workspace_id
            and g.run_id = r.id
            and g.delivered_count = g.count
    ) as t on true
    where r.workspace_id = p_workspace_id
        and d.workspace_id = p_workspace_id
        and r.id = any(p_run_ids)
    order by r.priority desc, r.requested_at, r.id;
end;
$fn$;

comment on function dispatch._claimed_rows(uuid, uuid[], uuid[]) is
$doc$Give the just claimed runs as a daemon gets them, in claim order, and mark what is
delivered.

Errors: none.$doc$;

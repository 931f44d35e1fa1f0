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
declare
    v_run uuid;
begin
    for v_run in
        select i.id
        from unnest(p_run_ids) as i (id)
        where exists (
            select
            from dispatch.run_trigger as t
            where t.workspace_id = p_workspace_id and t.run_id = i.id
        )
    loop
        perform dispatch._deliver_triggers(p_workspace_id, v_run);
    end loop;
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
    from unnest(p_run_ids) as i (id)
    cross join lateral (
        select
            s.id, s.workspace_id, s.agent_id, s.runtime_id, s.issue_id, s.claim_no, s.attempt,
            s.priority, s.requested_at, s.dispatched_at, s.lease_expires_at
        from dispatch.run as s
        where s.workspace_id = p_workspace_id and s.id = i.id
        limit 1
    ) as r
    cross join lateral (
        select
            s.chat_session_id, s.autopilot_run_id, s.reason, s.source, s.payload,
            s.idempotency_key, s.comment_id, s.requested_at, s.actor_type, s.actor_id,
            s.originator_id, s.accountable_id, s.attribution_source, s.is_leader_run,
            s.squad_id, s.handoff_note, s.session_id, s.work_dir
        from dispatch.run_detail as s
        where s.workspace_id = p_workspace_id and s.run_id = i.id
        limit 1
    ) as d
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
    order by r.priority desc, r.requested_at, r.id;
end;
$fn$;

comment on function dispatch._claimed_rows(uuid, uuid[], uuid[]) is
$doc$Give the just claimed runs as a daemon gets them, in claim order, and mark what is
delivered.

Errors: none.$doc$;

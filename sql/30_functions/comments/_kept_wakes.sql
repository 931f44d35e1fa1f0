-- Two runs of a pair may stand for one wake, by a rerun of the one; it is kept once.
create or replace function dispatch._kept_wakes(
    p_workspace_id uuid,
    p_run_ids uuid[],
    p_comment_ids uuid[]
)
returns setof dispatch.run_trigger
language plpgsql
stable
parallel safe
rows 10
set search_path = pg_catalog, pg_temp
as $fn$
begin
    return query
    select distinct on (
        t.at, t.source, t.reason, t.payload, t.idempotency_key, t.comment_id, t.actor_type,
        t.actor_id, t.originator_id
    )
        t.workspace_id, t.run_id, t.seq, t.at, t.last_at, t.outcome, t.source, t.reason,
        t.payload, t.idempotency_key, t.comment_id, t.actor_type, t.actor_id, t.originator_id,
        t.accountable_id, t.attribution_source, t.evidence_kind, t.evidence_id,
        t.delegated_from_run_id, t.count, t.delivered_count, t.inherited
    from unnest(p_run_ids) as i (id)
    cross join lateral (
        select s.follow_up_run_id
        from dispatch.run_detail as s
        where s.workspace_id = p_workspace_id and s.run_id = i.id
        limit 1
    ) as d
    cross join lateral (
        select
            s.workspace_id, s.run_id, s.seq, s.at, s.last_at, s.outcome, s.source, s.reason,
            s.payload, s.idempotency_key, s.comment_id, s.actor_type, s.actor_id,
            s.originator_id, s.accountable_id, s.attribution_source, s.evidence_kind,
            s.evidence_id, s.delegated_from_run_id, s.count, s.delivered_count, s.inherited
        from dispatch.run_trigger as s
        where s.workspace_id = p_workspace_id and s.run_id = i.id
        offset 0
    ) as t
    where not coalesce(t.comment_id = any(p_comment_ids), false)
        and not exists (
            select
            from dispatch.run_trigger as f
            where f.workspace_id = p_workspace_id
                and f.run_id = d.follow_up_run_id
                and f.inherited
                and f.at = t.at
                and f.source = t.source
                and f.reason = t.reason
                and f.comment_id is not distinct from t.comment_id
                and f.idempotency_key is not distinct from t.idempotency_key
        )
    order by
        t.at, t.source, t.reason, t.payload, t.idempotency_key, t.comment_id, t.actor_type,
        t.actor_id, t.originator_id, t.run_id, t.seq;
end;
$fn$;

comment on function dispatch._kept_wakes(uuid, uuid[], uuid[]) is
$doc$Give the wakes that runs stand for, each once, without those of p_comment_ids and those
that were handed over to a follow-up.

Errors: none.$doc$;

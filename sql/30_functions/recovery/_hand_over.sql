-- The caller holds the target's run row, or has just inserted it. Rows that were merged or
-- absorbed elsewhere are marked, so that they are counted where they were decided and nowhere
-- else. A run may get the same wakes along two ways, by a rerun and by the retry of one run; a
-- wake that it has already is not added again.
create or replace function dispatch._hand_over(
    p_workspace_id uuid,
    p_from_run_id uuid,
    p_to_run_id uuid,
    p_is_owed_only boolean,
    p_is_first boolean default false
)
returns void
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_known bigint[] := '{}'::bigint[];
begin
    if not p_is_owed_only then
        with known as (
            update dispatch.run_trigger as o
            set count = greatest(o.count, t.count), last_at = greatest(o.last_at, t.last_at)
            from dispatch.run_trigger as t
            where t.workspace_id = p_workspace_id
                and t.run_id = p_from_run_id
                and o.workspace_id = p_workspace_id
                and o.run_id = p_to_run_id
                and o.inherited
                and (t.inherited or not p_is_first)
                and o.at = t.at
                and o.source = t.source
                and o.reason = t.reason
                and o.payload = t.payload
                and o.actor_type = t.actor_type
                and o.actor_id is not distinct from t.actor_id
                and o.originator_id is not distinct from t.originator_id
                and o.comment_id is not distinct from t.comment_id
                and o.idempotency_key is not distinct from t.idempotency_key
            returning t.seq
        )
        select coalesce(array_agg(k.seq), '{}'::bigint[]) into v_known from known as k;
    end if;
    insert into dispatch.run_trigger (
        workspace_id, run_id, seq, at, last_at, outcome, source, reason, payload,
        idempotency_key, comment_id, actor_type, actor_id, originator_id, accountable_id,
        attribution_source, evidence_kind, evidence_id, delegated_from_run_id, count, inherited
    )
    select
        p_workspace_id, p_to_run_id,
        coalesce((
            select max(o.seq)
            from dispatch.run_trigger as o
            where o.workspace_id = p_workspace_id and o.run_id = p_to_run_id
        ), 0) + row_number() over (order by t.seq),
        t.at, t.last_at, t.outcome, t.source, t.reason, t.payload, t.idempotency_key,
        t.comment_id, t.actor_type, t.actor_id, t.originator_id, t.accountable_id,
        t.attribution_source, t.evidence_kind, t.evidence_id, t.delegated_from_run_id,
        case when p_is_owed_only then t.count - t.delivered_count else t.count end, true
    from dispatch.run_trigger as t
    where t.workspace_id = p_workspace_id
        and t.run_id = p_from_run_id
        and (not p_is_owed_only or t.count > t.delivered_count)
        and not t.seq = any(v_known);
    -- What was handed over is not owed here any more.
    update dispatch.run_trigger as t
    set delivered_count = t.count
    where t.workspace_id = p_workspace_id
        and t.run_id = p_from_run_id
        and t.count > t.delivered_count;
end;
$fn$;

comment on function dispatch._hand_over(uuid, uuid, uuid, boolean, boolean) is
$doc$Append a run's wakes to those of another run: all of them, or only those it owes.

p_is_first says that the other run has none of this run's own wakes yet.

Errors: none.$doc$;

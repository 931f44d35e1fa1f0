create or replace function dispatch._copy_wakes(
    p_workspace_id uuid,
    p_run_id uuid,
    p_kept dispatch.run_trigger[]
)
returns void
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_seq bigint;
begin
    select coalesce(max(t.seq), 0)
    into v_seq
    from dispatch.run_trigger as t
    where t.workspace_id = p_workspace_id and t.run_id = p_run_id;
    insert into dispatch.run_trigger (
        workspace_id, run_id, seq, at, last_at, outcome, source, reason, payload,
        idempotency_key, comment_id, actor_type, actor_id, originator_id, accountable_id,
        attribution_source, evidence_kind, evidence_id, delegated_from_run_id, count, inherited
    )
    select
        p_workspace_id, p_run_id, v_seq + k.ordinality, k.at, k.last_at, k.outcome, k.source,
        k.reason, k.payload, k.idempotency_key, k.comment_id, k.actor_type, k.actor_id,
        k.originator_id, k.accountable_id, k.attribution_source, k.evidence_kind,
        k.evidence_id, k.delegated_from_run_id, k.count, true
    from unnest(p_kept) with ordinality as k;
end;
$fn$;

comment on function dispatch._copy_wakes(uuid, uuid, dispatch.run_trigger[]) is
$doc$Append recorded wakes to those of another run, marked as counted elsewhere.

Errors: none.$doc$;

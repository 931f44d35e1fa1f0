-- The caller holds the run row FOR NO KEY UPDATE. A run's own first wake is written only when a
-- second one comes, so an ordinary run has no row here.
create or replace function dispatch._record_wake(
    p_workspace_id uuid,
    p_run_id uuid,
    p_wake dispatch.wake,
    p_outcome dispatch.outcome,
    p_now timestamptz
)
returns void
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    perform dispatch._record_first_wake(p_workspace_id, p_run_id);
    update dispatch.run_trigger as t
    set count = t.count + 1, last_at = p_now
    where t.workspace_id = p_workspace_id
        and t.run_id = p_run_id
        and t.outcome = p_outcome
        and not t.inherited
        and t.source = p_wake.source
        and t.reason = p_wake.reason
        and t.payload = p_wake.payload
        and t.actor_type = p_wake.actor_type
        and t.actor_id is not distinct from p_wake.actor_id
        and t.originator_id is not distinct from p_wake.originator_id
        and t.comment_id is not distinct from p_wake.comment_id
        and t.idempotency_key is not distinct from p_wake.idempotency_key;
    if not found then
        insert into dispatch.run_trigger (
            workspace_id, run_id, seq, at, last_at, outcome, source, reason, payload,
            idempotency_key, comment_id, actor_type, actor_id, originator_id, accountable_id,
            attribution_source, evidence_kind, evidence_id, delegated_from_run_id
        )
        select
            p_workspace_id, p_run_id, max(t.seq) + 1, p_now, p_now, p_outcome, p_wake.source,
            p_wake.reason, p_wake.payload, p_wake.idempotency_key, p_wake.comment_id,
            p_wake.actor_type, p_wake.actor_id, p_wake.originator_id, p_wake.accountable_id,
            p_wake.attribution_source, p_wake.evidence_kind, p_wake.evidence_id,
            p_wake.delegated_from_run_id
        from dispatch.run_trigger as t
        where t.workspace_id = p_workspace_id and t.run_id = p_run_id;
    end if;
end;
$fn$;

comment on function dispatch._record_wake(
    uuid, uuid, dispatch.wake, dispatch.outcome, timestamptz
) is
$doc$Record a wake on the run that stands for it from then on.

p_outcome is coalesced or absorbed. An equal wake (source, reason, payload, actor, originator,
comment, key) that was recorded with the same outcome gains a count instead of a row.
Errors: none.$doc$;

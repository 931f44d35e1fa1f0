-- A dispatched run has delivered its own wake already; of a queued or deferred one nothing is
-- delivered.
create or replace function dispatch._record_first_wake(p_workspace_id uuid, p_run_id uuid)
returns void
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    if exists (
        select from dispatch.run_trigger as t
        where t.workspace_id = p_workspace_id and t.run_id = p_run_id
    ) then
        return;
    end if;
    insert into dispatch.run_trigger (
        workspace_id, run_id, seq, at, last_at, outcome, source, reason, payload,
        idempotency_key, comment_id, actor_type, actor_id, originator_id, accountable_id,
        attribution_source, evidence_kind, evidence_id, delegated_from_run_id, delivered_count
    )
    select
        d.workspace_id, d.run_id, 1, d.requested_at, d.requested_at, 'queued', d.source,
        d.reason, d.payload, d.idempotency_key, d.comment_id, d.actor_type, d.actor_id,
        d.originator_id, d.accountable_id, d.attribution_source, d.evidence_kind, d.evidence_id,
        d.delegated_from_run_id, case when r.status in ('queued', 'deferred') then 0 else 1 end
    from dispatch.run as r
    inner join dispatch.run_detail as d
        on d.workspace_id = r.workspace_id and d.run_id = r.id
    where r.workspace_id = p_workspace_id
        and d.workspace_id = p_workspace_id
        and r.id = p_run_id;
end;
$fn$;

comment on function dispatch._record_first_wake(uuid, uuid) is
$doc$Write a run's own first wake into run_trigger unless the run has rows there.

Errors: none.$doc$;

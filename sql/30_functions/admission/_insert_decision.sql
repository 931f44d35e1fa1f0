create or replace function dispatch._insert_decision(p_run_id uuid, p_wake dispatch.wake)
returns dispatch.decision
language sql
immutable
parallel safe
as $fn$
select row(
    case when (p_wake).fire_at is null then 'queued'::dispatch.outcome else 'deferred' end,
    case when (p_wake).fire_at is null then 'queued'::dispatch.reason_code else 'deferred' end,
    p_run_id, (p_wake).agent_id, (p_wake).source, null
)::dispatch.decision;
$fn$;

comment on function dispatch._insert_decision(uuid, dispatch.wake) is
$doc$Answer a wake that became a run of its own: queued, or deferred until its time.

Errors: none.$doc$;

create or replace function dispatch._trigger_json(
    p_at timestamptz,
    p_outcome dispatch.outcome,
    p_source text,
    p_reason text,
    p_payload jsonb,
    p_idempotency_key text,
    p_comment_id uuid,
    p_actor_type text,
    p_actor_id uuid,
    p_originator_id uuid,
    p_count integer
)
returns jsonb
language sql
stable
parallel safe
as $fn$
select jsonb_build_object(
    'at', dispatch._instant_text(p_at),
    'outcome', p_outcome,
    'source', p_source,
    'reason', p_reason,
    'payload', p_payload,
    'idempotency_key', p_idempotency_key,
    'comment_id', p_comment_id,
    'actor_type', p_actor_type,
    'actor_id', p_actor_id,
    'originator_id', p_originator_id,
    'count', p_count
);
$fn$;

comment on function dispatch._trigger_json(
    timestamptz, dispatch.outcome, text, text, jsonb, text, uuid, text, uuid, uuid, integer
) is
$doc$Write one wake of a run as a claim returns it; instants are in UTC.

Errors: none.$doc$;

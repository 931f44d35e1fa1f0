create or replace function dispatch._is_same_wake(
    p_one dispatch.run_trigger,
    p_other dispatch.run_trigger
)
returns boolean
language sql
immutable
parallel safe
as $fn$
select p_one.at = p_other.at
    and p_one.source = p_other.source
    and p_one.reason = p_other.reason
    and p_one.payload = p_other.payload
    and p_one.actor_type = p_other.actor_type
    and p_one.actor_id is not distinct from p_other.actor_id
    and p_one.originator_id is not distinct from p_other.originator_id
    and p_one.comment_id is not distinct from p_other.comment_id
    and p_one.idempotency_key is not distinct from p_other.idempotency_key;
$fn$;

comment on function dispatch._is_same_wake(dispatch.run_trigger, dispatch.run_trigger) is
$doc$Tell whether two records are of one wake: equal in all that was asked, and as old.

Errors: none.$doc$;

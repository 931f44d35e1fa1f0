create or replace function dispatch._blocked_decision(
    p_wake dispatch.wake,
    p_code dispatch.reason_code
)
returns dispatch.decision
language sql
immutable
parallel safe
as $fn$
select row(
    'blocked', p_code, null,
    case when p_code <> 'invocation_not_allowed' then (p_wake).agent_id end,
    (p_wake).source, null
)::dispatch.decision;
$fn$;

comment on function dispatch._blocked_decision(dispatch.wake, dispatch.reason_code) is
$doc$Answer a wake that one of the gates 1 to 3 blocks; an agent that is not there is not named.

Errors: none.$doc$;

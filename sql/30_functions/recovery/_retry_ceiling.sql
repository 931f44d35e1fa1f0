create or replace function dispatch._retry_ceiling(
    p_failure_reason text,
    p_max_attempts integer
)
returns integer
language sql
immutable
parallel safe
as $fn$
select case
    when p_max_attempts <= 1 then p_max_attempts
    when p_failure_reason = 'agent_error.provider_network' then greatest(p_max_attempts, 3)
    else p_max_attempts
end;
$fn$;

comment on function dispatch._retry_ceiling(text, integer) is
$doc$Give how many attempts a run may have in all when it fails for this reason.

A fault of the provider's network is worth a third attempt, unless retries are switched off.
Rule: issue-to-run 4.
Errors: none.$doc$;

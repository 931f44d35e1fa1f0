create or replace function dispatch._retry_delay(p_failure_reason text, p_attempt integer)
returns interval
language sql
immutable
parallel safe
as $fn$
select case
    when p_failure_reason = 'runtime_offline' then interval '1 second'
    when p_failure_reason = 'agent_error.provider_network' and p_attempt >= 2
        then interval '5 seconds'
end;
$fn$;

comment on function dispatch._retry_delay(text, integer) is
$doc$Give how long the retry of attempt p_attempt waits; NULL when it is queued at once.

After the loss of a runtime it is always deferred, so that promotion, which asks for a fresh
runtime, decides when. Rule: issue-to-run 4.
Errors: none.$doc$;

create or replace function dispatch.claim_recovery_window()
returns interval
language sql
immutable
parallel safe
as $fn$
select interval '90 seconds';
$fn$;

comment on function dispatch.claim_recovery_window() is
$doc$Give the age beyond which a claim that was never confirmed is handed out again.

Longer than a daemon's time-outs for claim and start together.
Errors: none.$doc$;

create or replace function dispatch.allowance_limit()
returns integer
language sql
immutable
parallel safe
as $fn$
select 5;
$fn$;

comment on function dispatch.allowance_limit() is
$doc$Give the number of agent-initiated assignment wakes that one issue may admit per window.

Allowance N.
Errors: none.$doc$;

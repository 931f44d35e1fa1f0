create or replace function dispatch.queued_ttl()
returns interval
language sql
immutable
parallel safe
as $fn$
select interval '7200 seconds';
$fn$;

comment on function dispatch.queued_ttl() is
$doc$Give the age beyond which a sweep fails a run that was never claimed.

Errors: none.$doc$;

create or replace function dispatch.runtime_freshness()
returns interval
language sql
immutable
parallel safe
as $fn$
select interval '150 seconds';
$fn$;

comment on function dispatch.runtime_freshness() is
$doc$Give the age of a heartbeat up to which an online runtime counts as fresh.

Boundary included.
Errors: none.$doc$;

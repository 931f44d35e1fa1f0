create or replace function dispatch.occurrence_lateness()
returns interval
language sql
immutable
parallel safe
as $fn$
select interval '5 minutes';
$fn$;

comment on function dispatch.occurrence_lateness() is
$doc$Give how late a planned instant may still fire.

Boundary included.
Errors: none.$doc$;

create or replace function dispatch.max_delay()
returns interval
language sql
immutable
parallel safe
as $fn$
select interval '8784 hours';
$fn$;

comment on function dispatch.max_delay() is
$doc$Give how far ahead a run may be deferred.

366 times 24 hours.
Errors: none.$doc$;

create or replace function dispatch.max_lease()
returns interval
language sql
immutable
parallel safe
as $fn$
select interval '24 hours';
$fn$;

comment on function dispatch.max_lease() is
$doc$Give the longest lease that may be asked for.

Errors: none.$doc$;

create or replace function dispatch.run_retention()
returns interval
language sql
immutable
parallel safe
as $fn$
select interval '2160 hours';
$fn$;

comment on function dispatch.run_retention() is
$doc$Give how long a terminal run is kept.

Errors: none.$doc$;

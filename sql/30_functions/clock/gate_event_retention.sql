create or replace function dispatch.gate_event_retention()
returns interval
language sql
immutable
parallel safe
as $fn$
select interval '720 hours';
$fn$;

comment on function dispatch.gate_event_retention() is
$doc$Give how long a gate event is kept before it is summed up.

Errors: none.$doc$;

create or replace function dispatch.duplicate_window()
returns interval
language sql
immutable
parallel safe
as $fn$
select interval '24 hours';
$fn$;

comment on function dispatch.duplicate_window() is
$doc$Give the age below which a run with the same key makes a wake a recent duplicate.

A run exactly this old is found by the durable index only.
Errors: none.$doc$;

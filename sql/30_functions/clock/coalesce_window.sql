create or replace function dispatch.coalesce_window()
returns interval
language sql
immutable
parallel safe
as $fn$
select interval '5 seconds';
$fn$;

comment on function dispatch.coalesce_window() is
$doc$Give the age below which a queued run still merges an equal wake.

A run exactly this old does not merge.
Errors: none.$doc$;

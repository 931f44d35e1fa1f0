create or replace function dispatch.allowance_window()
returns interval
language sql
immutable
parallel safe
as $fn$
select interval '10 minutes';
$fn$;

comment on function dispatch.allowance_window() is
$doc$Give the length of the window in which the assignment allowance is counted.

Allowance W, half-open: an admission exactly this old is out of it.
Errors: none.$doc$;

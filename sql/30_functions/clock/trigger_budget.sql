create or replace function dispatch.trigger_budget()
returns integer
language sql
immutable
parallel safe
as $fn$
select 524288;
$fn$;

comment on function dispatch.trigger_budget() is
$doc$Give how many bytes of wakes one claim returns for a run.

The newest wake is returned whatever its size.
Errors: none.$doc$;

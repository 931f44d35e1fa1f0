create or replace function dispatch.reason_limit()
returns integer
language sql
immutable
parallel safe
as $fn$
select 100;
$fn$;

comment on function dispatch.reason_limit() is
$doc$Give the largest wake reason in bytes.

Errors: none.$doc$;

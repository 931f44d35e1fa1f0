create or replace function dispatch.name_limit()
returns integer
language sql
immutable
parallel safe
as $fn$
select 200;
$fn$;

comment on function dispatch.name_limit() is
$doc$Give the largest name in bytes.

Errors: none.$doc$;

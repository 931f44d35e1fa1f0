create or replace function dispatch.preview_limit()
returns integer
language sql
immutable
parallel safe
as $fn$
select 500;
$fn$;

comment on function dispatch.preview_limit() is
$doc$Give the largest number of issues in one preview.

Errors: none.$doc$;

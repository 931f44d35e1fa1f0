create or replace function dispatch.error_limit()
returns integer
language sql
immutable
parallel safe
as $fn$
select 65536;
$fn$;

comment on function dispatch.error_limit() is
$doc$Give the largest stored error text in bytes.

A longer one is cut at a character and marked.
Errors: none.$doc$;

create or replace function dispatch.key_limit()
returns integer
language sql
immutable
parallel safe
as $fn$
select 255;
$fn$;

comment on function dispatch.key_limit() is
$doc$Give the largest idempotency key in bytes.

Errors: none.$doc$;

create or replace function dispatch.document_limit()
returns integer
language sql
immutable
parallel safe
as $fn$
select 1048576;
$fn$;

comment on function dispatch.document_limit() is
$doc$Give the largest payload or result in bytes of its text.

Errors: none.$doc$;

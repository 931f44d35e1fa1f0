create or replace function dispatch.batch_limit()
returns integer
language sql
immutable
parallel safe
as $fn$
select 1000;
$fn$;

comment on function dispatch.batch_limit() is
$doc$Give the largest number of elements in one batch.

Errors: none.$doc$;

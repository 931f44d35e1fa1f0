create or replace function dispatch.claim_batch_limit()
returns integer
language sql
immutable
parallel safe
as $fn$
select 256;
$fn$;

comment on function dispatch.claim_batch_limit() is
$doc$Give the largest number of runs that one claim returns.

A larger p_max is clamped to it.
Errors: none.$doc$;

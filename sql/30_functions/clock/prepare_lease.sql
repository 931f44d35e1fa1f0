create or replace function dispatch.prepare_lease()
returns interval
language sql
immutable
parallel safe
as $fn$
select interval '45 seconds';
$fn$;

comment on function dispatch.prepare_lease() is
$doc$Give the lease that a claim gets until its run is started.

Renewed by extend_lease and by wait_run.
Errors: none.$doc$;

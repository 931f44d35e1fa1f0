create or replace function dispatch.dispatch_timeout()
returns interval
language sql
immutable
parallel safe
as $fn$
select interval '300 seconds';
$fn$;

comment on function dispatch.dispatch_timeout() is
$doc$Give the age beyond which a sweep fails a run that was claimed and not started.

Only without a live lease.
Errors: none.$doc$;

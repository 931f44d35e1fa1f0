create or replace function dispatch.running_timeout()
returns interval
language sql
immutable
parallel safe
as $fn$
select interval '9000 seconds';
$fn$;

comment on function dispatch.running_timeout() is
$doc$Give the age beyond which a sweep fails a running run of a silent runtime.

Never applied while heartbeats arrive.
Errors: none.$doc$;

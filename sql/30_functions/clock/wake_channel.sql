create or replace function dispatch.wake_channel()
returns text
language sql
immutable
parallel safe
as $fn$
select 'dispatch_wake';
$fn$;

comment on function dispatch.wake_channel() is
$doc$Give the channel on which a runtime is told that a run may be claimable.

The payload is the runtime's id.
Errors: none.$doc$;

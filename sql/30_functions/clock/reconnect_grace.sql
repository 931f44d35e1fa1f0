create or replace function dispatch.reconnect_grace()
returns interval
language sql
immutable
parallel safe
as $fn$
select interval '3 hours';
$fn$;

comment on function dispatch.reconnect_grace() is
$doc$Give how long a silent runtime keeps the runs it has in hand.

Errors: none.$doc$;

create or replace function dispatch._sweeps()
returns text[]
language sql
immutable
parallel safe
as $fn$
select array['runtimes', 'dispatched', 'running', 'offline', 'queued', 'reconnect'];
$fn$;

comment on function dispatch._sweeps() is
$doc$Name the sweeps in their order.

Errors: none.$doc$;

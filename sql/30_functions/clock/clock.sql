create or replace function dispatch.clock()
returns timestamptz
language sql
volatile
parallel safe
as $fn$
select clock_timestamp();
$fn$;

comment on function dispatch.clock() is
$doc$Tell the instant that every function of this schema writes and compares.

The wall clock of the server, not the start of the transaction. Nothing a caller can set changes
it.
Errors: none.$doc$;

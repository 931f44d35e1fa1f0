create or replace function dispatch._uuid_tick()
returns bigint
language sql
volatile
parallel safe
as $fn$
select floor(extract(epoch from clock_timestamp()) * 4096000)::bigint;
$fn$;

comment on function dispatch._uuid_tick() is
$doc$Give the time in units of 1/4096 ms, from which ids are minted.

Reads the server's clock itself, so that ids stay in order while tests hold dispatch.clock().
Errors: none.$doc$;

-- The lower half of a random uuid already carries the variant bits, so only the upper half is
-- made.
create or replace function dispatch._uuid_v7(p_tick bigint)
returns uuid
language sql
volatile
parallel safe
as $fn$
select (
    lpad(to_hex(p_tick >> 12), 12, '0')
    || '7'
    || lpad(to_hex(p_tick & 4095), 3, '0')
    || substr(replace(gen_random_uuid()::text, '-', ''), 17)
)::uuid;
$fn$;

comment on function dispatch._uuid_v7(bigint) is
$doc$Mint a version 7 id for a tick: ids of ascending ticks ascend.

p_tick counts 1/4096 ms since 1970; a batch adds each element's position to one tick.
Errors: none.$doc$;

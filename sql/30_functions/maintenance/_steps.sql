create or replace function dispatch._steps()
returns text[]
language sql
immutable
parallel safe
as $fn$
select array['replay', 'promote', 'sweep', 'prune'];
$fn$;

comment on function dispatch._steps() is
$doc$Name the steps of a tick in their order.

Errors: none.$doc$;

create or replace function dispatch._priority_rank(p_priority text)
returns integer
language sql
immutable
parallel safe
as $fn$
select case p_priority
    when 'urgent' then 4
    when 'high' then 3
    when 'medium' then 2
    when 'low' then 1
    else 0
end;
$fn$;

comment on function dispatch._priority_rank(text) is
$doc$Give the priority of a run for an issue of this priority: urgent 4 down to none 0.

Errors: none.$doc$;

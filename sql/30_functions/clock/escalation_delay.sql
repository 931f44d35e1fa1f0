create or replace function dispatch.escalation_delay()
returns interval
language sql
immutable
parallel safe
as $fn$
select interval '5 minutes';
$fn$;

comment on function dispatch.escalation_delay() is
$doc$Give how long a wake of the assignee waits for the agent that was answered.

Errors: none.$doc$;

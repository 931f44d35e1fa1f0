create or replace function dispatch._task_bucket(p_payload jsonb)
returns text
language sql
immutable
parallel safe
as $fn$
select case
    when coalesce(p_payload -> 'task_id', 'null') in ('null', '""') then 'taskless'
    when jsonb_typeof(p_payload -> 'task_id') = 'string'
        then 'task ' || (p_payload ->> 'task_id')
end;
$fn$;

comment on function dispatch._task_bucket(jsonb) is
$doc$Name the task of a payload for the comparison of two wakes; NULL merges with nothing.

Absent, null and empty are one bucket, as is a payload that is no object; a task_id that is no
string has none. Rule: assignment-wake-rate-limit, The predicate.
Errors: none.$doc$;

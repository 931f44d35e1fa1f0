create or replace function dispatch._payload_issue_id(p_payload jsonb)
returns uuid
language sql
immutable
parallel safe
as $fn$
select case
    when jsonb_typeof(p_payload -> 'task_id') = 'string'
        and dispatch._is_uuid_text(p_payload ->> 'task_id')
        then (p_payload ->> 'task_id')::uuid
end;
$fn$;

comment on function dispatch._payload_issue_id(jsonb) is
$doc$Read the issue's id out of a payload's task_id; NULL when that is not a string in uuid
form.

Errors: none.$doc$;

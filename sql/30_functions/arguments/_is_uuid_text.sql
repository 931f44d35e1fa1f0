create or replace function dispatch._is_uuid_text(p_text text)
returns boolean
language sql
immutable
parallel safe
as $fn$
select p_text ~* '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$';
$fn$;

comment on function dispatch._is_uuid_text(text) is
$doc$Tell whether a text is a uuid in its usual form.

Errors: none.$doc$;

-- The order of the tests matters: each cast stands behind the test that makes it safe.
create or replace function dispatch._is_kind(p_value jsonb, p_kind text)
returns boolean
language sql
immutable
parallel safe
as $fn$
select case p_kind
    when 'any' then true
    when 'integer' then case
        when jsonb_typeof(p_value) = 'number'
            then p_value::numeric = trunc(p_value::numeric)
            and p_value::numeric between -2147483648 and 2147483647
        else false
    end
    when 'uuid'
        then jsonb_typeof(p_value) = 'string' and dispatch._is_uuid_text(p_value #>> '{}')
    when 'instant'
        then jsonb_typeof(p_value) = 'string' and dispatch._is_instant_text(p_value #>> '{}')
    when 'interval'
        then jsonb_typeof(p_value) = 'string' and dispatch._is_lease_text(p_value #>> '{}')
    else jsonb_typeof(p_value) = p_kind
end;
$fn$;

comment on function dispatch._is_kind(jsonb, text) is
$doc$Tell whether a JSON value may be read as p_kind: any, integer, uuid, instant, interval, or
a type of JSON.

Errors: none.$doc$;

-- The order of the whens matters: each cast stands behind the test that makes it safe.
create or replace function dispatch._json_kind(p_value jsonb)
returns text[]
language sql
immutable
parallel safe
as $fn$
select case jsonb_typeof(p_value)
    when 'null' then array['null']
    when 'boolean' then array['boolean']
    when 'object' then array['object']
    when 'array' then array['array']
    when 'number' then case
        when p_value::numeric = trunc(p_value::numeric)
            and p_value::numeric between -2147483648 and 2147483647
            then array['number', 'integer']
        else array['number']
    end
    when 'string' then array_remove(
        array[
            'string',
            case when dispatch._is_uuid_text(p_value #>> '{}') then 'uuid' end,
            case when dispatch._is_instant_text(p_value #>> '{}') then 'instant' end,
            case when dispatch._is_lease_text(p_value #>> '{}') then 'interval' end
        ],
        null
    )
end;
$fn$;

comment on function dispatch._json_kind(jsonb) is
$doc$Name what a JSON value may be read as: its type, and integer, uuid, instant or interval
where that fits.

Errors: none.$doc$;

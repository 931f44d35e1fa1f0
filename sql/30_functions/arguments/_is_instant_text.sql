-- A cast would raise the server's own error, which names no argument; so the text is judged
-- first.
create or replace function dispatch._is_instant_text(p_text text)
returns boolean
language sql
immutable
parallel safe
as $fn$
select
    p_text ~ (
        '^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])[T ]([01]\d|2[0-3]):[0-5]\d'
        '(:[0-5]\d(\.\d{1,6})?)?(Z|[+-](0\d|1[0-4])(:?[0-5]\d)?)$'
    )
    and substr(p_text, 1, 4) <> '0000'
    and substr(p_text, 9, 2)::integer <= extract(
        day from make_date(
            greatest(substr(p_text, 1, 4)::integer, 1), substr(p_text, 6, 2)::integer, 1
        ) + interval '1 month - 1 day'
    );
$fn$;

comment on function dispatch._is_instant_text(text) is
$doc$Tell whether a text is a date and time with a zone offset, as ISO 8601 writes them.

Errors: none.$doc$;

create or replace function dispatch._raise_wake(
    p_in_batch boolean,
    p_ord bigint,
    p_field text,
    p_errcode text,
    p_message text,
    p_advice text,
    p_detail text default ''
)
returns void
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    perform dispatch._raise(
        p_errcode, p_message,
        case
            when p_in_batch then format('p_wakes[%s].%s', p_ord - 1, p_field)
            else 'p_' || p_field
        end,
        p_advice, p_detail
    );
end;
$fn$;

comment on function dispatch._raise_wake(boolean, bigint, text, text, text, text, text) is
$doc$Raise an error about one field of a wake: p_FIELD, or p_wakes[N].FIELD counted from 0 in a
batch.

p_ord counts from 1.
Errors: the given code, always.$doc$;

create or replace function dispatch._raise(
    p_errcode text,
    p_message text,
    p_column text,
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
    raise exception using
        errcode = p_errcode,
        message = p_message,
        column = p_column,
        detail = p_detail,
        hint = p_column || ': ' || p_advice;
end;
$fn$;

comment on function dispatch._raise(text, text, text, text, text) is
$doc$Raise an error in the one shape that all functions share.

p_errcode is of class PD, p_message a constant phrase, p_column the argument at fault, p_advice
what to do about it, p_detail a bare reason code or empty. HINT repeats the argument at its
head, since COLUMN does not survive every hop.
Errors: the given code, always.$doc$;

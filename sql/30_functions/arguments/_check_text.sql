create or replace function dispatch._check_text(p_name text, p_value text, p_limit integer)
returns void
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    if p_value is null or btrim(p_value) = '' then
        perform dispatch._raise(
            'PD400', 'argument missing', p_name, 'give a text that is not empty.'
        );
    elsif octet_length(p_value) > p_limit then
        perform dispatch._raise(
            'PD400', 'text too long', p_name, format('at most %s bytes.', p_limit)
        );
    end if;
end;
$fn$;

comment on function dispatch._check_text(text, text, integer) is
$doc$Refuse a text that is NULL, blank or longer than p_limit bytes.

Errors: PD400 argument missing or text too long.$doc$;

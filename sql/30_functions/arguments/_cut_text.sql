create or replace function dispatch._cut_text(p_text text, p_limit integer)
returns text
language plpgsql
immutable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_mark constant text := ' [cut]';
    v_bytes bytea;
    v_length integer;
begin
    if p_text is null or octet_length(p_text) <= p_limit then
        return p_text;
    end if;
    v_bytes := convert_to(p_text, 'UTF8');
    v_length := p_limit - octet_length(v_mark);
    -- Step back to the first byte of the character that would be split.
    while get_byte(v_bytes, v_length) & 192 = 128 loop
        v_length := v_length - 1;
    end loop;
    return convert_from(substring(v_bytes from 1 for v_length), 'UTF8') || v_mark;
end;
$fn$;

comment on function dispatch._cut_text(text, integer) is
$doc$Shorten a text to p_limit bytes at a character's boundary and mark it as cut.

A text within the limit is returned as it is.
Errors: none.$doc$;

create or replace function dispatch._check_word(p_name text, p_value text, p_words text[])
returns void
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    if p_value is null then
        perform dispatch._raise(
            'PD400', 'argument missing', p_name,
            format('one of %s.', array_to_string(p_words, ', '))
        );
    elsif not p_value = any(p_words) then
        perform dispatch._raise(
            'PD400', 'unknown word', p_name,
            format('one of %s.', array_to_string(p_words, ', '))
        );
    end if;
end;
$fn$;

comment on function dispatch._check_word(text, text, text[]) is
$doc$Refuse a word that is NULL or not in p_words.

Errors: PD400 argument missing or unknown word.$doc$;

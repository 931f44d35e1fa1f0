create or replace function dispatch._check_priority(p_name text, p_priority text)
returns void
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    perform dispatch._check_word(
        p_name, p_priority, array['urgent', 'high', 'medium', 'low', 'none']
    );
end;
$fn$;

comment on function dispatch._check_priority(text, text) is
$doc$Refuse a priority of an issue that is NULL or unknown.

Errors: PD400 argument missing or unknown word.$doc$;

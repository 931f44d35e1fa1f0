create or replace function dispatch._check_status(p_name text, p_status text)
returns void
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    perform dispatch._check_word(
        p_name, p_status,
        array['backlog', 'todo', 'in_progress', 'in_review', 'blocked', 'done', 'cancelled']
    );
end;
$fn$;

comment on function dispatch._check_status(text, text) is
$doc$Refuse a status of an issue that is NULL or unknown.

Errors: PD400 argument missing or unknown word.$doc$;

create or replace function dispatch._check_count(p_name text, p_count integer)
returns void
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    if p_count is null or p_count < 0 then
        perform dispatch._raise('PD400', 'count out of range', p_name, '0 or more.');
    end if;
end;
$fn$;

comment on function dispatch._check_count(text, integer) is
$doc$Refuse a count that is NULL or negative.

Errors: PD400 count out of range.$doc$;

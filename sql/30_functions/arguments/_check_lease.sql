create or replace function dispatch._check_lease(p_name text, p_lease interval)
returns void
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    if p_lease <= interval '0' or p_lease > dispatch.max_lease() then
        perform dispatch._raise(
            'PD400', 'lease out of range', p_name, 'a positive interval of at most 24 hours.'
        );
    end if;
end;
$fn$;

comment on function dispatch._check_lease(text, interval) is
$doc$Refuse a lease that is not positive or longer than max_lease(); NULL passes.

Errors: PD400 lease out of range.$doc$;

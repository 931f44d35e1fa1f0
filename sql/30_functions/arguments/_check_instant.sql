create or replace function dispatch._check_instant(
    p_name text,
    p_at timestamptz,
    p_now timestamptz
)
returns void
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    if not isfinite(p_at) or p_at > p_now + dispatch.max_delay() then
        perform dispatch._raise(
            'PD400', 'time out of range', p_name, 'a finite time at most 366 days ahead.'
        );
    end if;
end;
$fn$;

comment on function dispatch._check_instant(text, timestamptz, timestamptz) is
$doc$Refuse a time that is infinite or further ahead of p_now than max_delay(); NULL passes.

Errors: PD400 time out of range.$doc$;

create or replace function dispatch._check_given(p_names text[], p_are_given boolean[])
returns void
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    for v_i in 1..cardinality(p_names) loop
        if not p_are_given[v_i] then
            perform dispatch._raise(
                'PD400', 'argument missing', p_names[v_i], 'give a value, not NULL.'
            );
        end if;
    end loop;
end;
$fn$;

comment on function dispatch._check_given(text[], boolean[]) is
$doc$Refuse the first argument that is not given; p_names are the arguments' names in order.

Errors: PD400 argument missing.$doc$;

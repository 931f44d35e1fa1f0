create or replace function dispatch._check_optional_ids(p_names text[], p_ids uuid[])
returns void
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    for v_i in 1..cardinality(p_names) loop
        if p_ids[v_i] = '00000000-0000-0000-0000-000000000000' then
            perform dispatch._raise(
                'PD400', 'id is all zero', p_names[v_i], 'the all-zero uuid names nothing.'
            );
        end if;
    end loop;
end;
$fn$;

comment on function dispatch._check_optional_ids(text[], uuid[]) is
$doc$Refuse the first id that is all zero; NULL passes. p_names are the arguments' names in
order.

Errors: PD400 all-zero id.$doc$;

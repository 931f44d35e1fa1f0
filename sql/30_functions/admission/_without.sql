create or replace function dispatch._without(
    p_candidates dispatch._candidate[],
    p_rulings dispatch._ruling[]
)
returns dispatch._candidate[]
language plpgsql
immutable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    if cardinality(p_rulings) = 0 then
        return p_candidates;
    elsif cardinality(p_rulings) = cardinality(p_candidates) then
        return '{}'::dispatch._candidate[];
    end if;
    return array(
        select c
        from unnest(p_candidates) as c
        left join unnest(p_rulings) as s on s.ord = c.ord
        where s.ord is null
        order by c.ord
    );
end;
$fn$;

comment on function dispatch._without(dispatch._candidate[], dispatch._ruling[]) is
$doc$Give the candidates that no ruling settles; each ruling belongs to one of them.

Errors: none.$doc$;

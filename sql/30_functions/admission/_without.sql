create or replace function dispatch._without(
    p_open dispatch._candidate[],
    p_round dispatch._candidate[]
)
returns dispatch._candidate[]
language plpgsql
immutable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    if cardinality(p_round) = cardinality(p_open) then
        return '{}'::dispatch._candidate[];
    end if;
    return array(
        select c
        from unnest(p_open) as c
        left join unnest(p_round) as s on s.ord = c.ord
        where s.ord is null
        order by c.ord
    );
end;
$fn$;

comment on function dispatch._without(dispatch._candidate[], dispatch._candidate[]) is
$doc$Give the open candidates that are not in the round; the round is a part of them.

Errors: none.$doc$;

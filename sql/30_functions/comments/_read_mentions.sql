create or replace function dispatch._read_mentions(p_mentions jsonb)
returns dispatch._target[]
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    return array(
        select row(
            m.kind, case when m.is_uuid then m.id end, 'mention', false, null,
            case when not m.is_uuid then 'target_unavailable' end, null
        )::dispatch._target
        from (
            select
                e.value ->> 'type' as kind, lower(e.value ->> 'id') as id,
                dispatch._is_uuid_text(e.value ->> 'id') as is_uuid,
                min(e.ordinality) as place
            from jsonb_array_elements(p_mentions) with ordinality as e (value, ordinality)
            where e.value ->> 'type' in ('agent', 'squad')
            group by 1, 2, 3
        ) as m
        order by m.place
    );
end;
$fn$;

comment on function dispatch._read_mentions(jsonb) is
$doc$Give the agents and squads that mentions name, each once, in the order given.

An id that is no uuid is target_unavailable. Rule: dispatch 3.3.
Errors: none.$doc$;

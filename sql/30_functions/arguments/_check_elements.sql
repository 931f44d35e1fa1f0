-- One statement over the whole batch, since a batch is checked on the way of every bulk call.
create or replace function dispatch._check_elements(
    p_name text,
    p_elements jsonb,
    p_kinds jsonb,
    p_required text[]
)
returns void
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_bad record;
begin
    if p_elements is null or jsonb_typeof(p_elements) <> 'array' then
        perform dispatch._raise('PD400', 'batch is no array', p_name, 'give a JSON array.');
    elsif jsonb_array_length(p_elements) > dispatch.batch_limit() then
        perform dispatch._raise(
            'PD400', 'batch too long', p_name,
            format('at most %s elements.', dispatch.batch_limit())
        );
    end if;
    select e.ordinality - 1 as place, f.key, p_kinds ->> f.key as wanted
    into v_bad
    from jsonb_array_elements(p_elements) with ordinality as e (value, ordinality)
    cross join lateral (
        select null as key where jsonb_typeof(e.value) <> 'object'
        union all
        select k.key
        from jsonb_each(
            case jsonb_typeof(e.value) when 'object' then e.value else '{}' end
        ) as k
        where (
            not k.key = any(p_required) and k.value <> 'null' or k.key = any(p_required)
        ) and (
            not p_kinds ? k.key
            or not dispatch._is_kind(k.value, p_kinds ->> k.key)
            or k.value = '"00000000-0000-0000-0000-000000000000"' and p_kinds ->> k.key = 'uuid'
        ) or not p_kinds ? k.key
        union all
        select r.key
        from unnest(p_required) as r (key)
        where jsonb_typeof(e.value) = 'object' and not e.value ? r.key
    ) as f
    order by e.ordinality, f.key
    limit 1;
    if not found then
        return;
    elsif v_bad.key is null then
        perform dispatch._raise(
            'PD400', 'element is no object', format('%s[%s]', p_name, v_bad.place),
            'give a JSON object.'
        );
    elsif v_bad.wanted is null then
        perform dispatch._raise(
            'PD400', 'unknown key',
            format('%s[%s].%s', p_name, v_bad.place, left(v_bad.key, 60)),
            'remove this key.'
        );
    end if;
    perform dispatch._raise(
        'PD400', 'value missing or of a wrong kind',
        format('%s[%s].%s', p_name, v_bad.place, v_bad.key),
        format('give a value of kind %s.', v_bad.wanted)
    );
end;
$fn$;

comment on function dispatch._check_elements(text, jsonb, jsonb, text[]) is
$doc$Refuse a batch whose shape is wrong, naming the first bad element and key.

p_kinds maps each known key to the kind of its value: any, string, boolean, integer, object,
uuid (not all zero), instant or interval. A null counts as absent; keys in p_required must be
there.
Errors: PD400 no array, too many elements, an element that is no object, an unknown key, a
missing value or one of a wrong kind.$doc$;

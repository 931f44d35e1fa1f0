create or replace function dispatch._read_assignee(
    p_name text,
    p_assignee jsonb,
    out assignee_type text,
    out assignee_id uuid
)
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    if p_assignee = 'null' then
        return;
    elsif jsonb_typeof(p_assignee) <> 'object'
        or p_assignee - array['type', 'id'] <> '{}'
        or not p_assignee ?& array['type', 'id']
    then
        perform dispatch._raise(
            'PD400', 'assignee malformed', p_name,
            'give null or an object of type and id.'
        );
    elsif dispatch._is_uuid_text(p_assignee ->> 'id') is not true then
        perform dispatch._raise(
            'PD400', 'assignee malformed', p_name, 'give the id as a uuid.'
        );
    end if;
    assignee_type := p_assignee ->> 'type';
    assignee_id := (p_assignee ->> 'id')::uuid;
    perform dispatch._check_word(p_name, assignee_type, array['agent', 'squad', 'member']);
    perform dispatch._check_ids(array[p_name], array[assignee_id]);
end;
$fn$;

comment on function dispatch._read_assignee(text, jsonb) is
$doc$Read an assignee given as JSON: null for nobody, or an object of type and id and nothing
else.

Errors: PD400 assignee malformed, unknown word or all-zero id, each naming p_name.$doc$;

create or replace function dispatch._read_changes(
    p_changes jsonb,
    out title text,
    out status text,
    out priority text,
    out is_assigned boolean,
    out assignee_type text,
    out assignee_id uuid
)
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_key text;
begin
    if p_changes is null or jsonb_typeof(p_changes) <> 'object' then
        perform dispatch._raise(
            'PD400', 'changes are no object', 'p_changes', 'give a JSON object.'
        );
    end if;
    for v_key in select k.key from jsonb_object_keys(p_changes) as k (key) loop
        case v_key
            when 'title' then
                title := case
                    when jsonb_typeof(p_changes -> 'title') = 'string'
                        then p_changes ->> 'title'
                end;
                perform dispatch._check_text('p_changes.title', title, dispatch.name_limit());
            when 'status' then
                status := p_changes ->> 'status';
                perform dispatch._check_status('p_changes.status', status);
            when 'priority' then
                priority := p_changes ->> 'priority';
                perform dispatch._check_priority('p_changes.priority', priority);
            when 'assignee' then
                select a.assignee_type, a.assignee_id
                into assignee_type, assignee_id
                from dispatch._read_assignee(
                    'p_changes.assignee', p_changes -> 'assignee'
                ) as a;
            else
                perform dispatch._raise(
                    'PD400', 'unknown key', 'p_changes.' || left(v_key, 60), 'remove this key.'
                );
        end case;
    end loop;
    is_assigned := p_changes ? 'assignee';
end;
$fn$;

comment on function dispatch._read_changes(jsonb) is
$doc$Read the changes of an issue: NULL for a field that is not written.

is_assigned tells that the assignee is written; NULL type and id then clear it.
Errors: PD400 no object, unknown key, missing, malformed or too long value.$doc$;

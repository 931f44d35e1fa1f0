-- An exception block is the only way to learn on every supported server whether a text is JSON.
-- It writes nothing inside, so no subtransaction id is used up.
create or replace function dispatch.read_payload(p_text text)
returns jsonb
language plpgsql
stable
parallel safe
security definer
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_payload jsonb;
begin
    if p_text is null then
        return '{}'::jsonb;
    end if;
    begin
        v_payload := p_text::jsonb;
    exception
        when others then
            if sqlstate like '40%' or sqlstate in ('57014', '0A000') then
                raise;
            end if;
            return to_jsonb(p_text);
    end;
    if jsonb_typeof(v_payload) = 'object' then
        return v_payload;
    end if;
    return to_jsonb(p_text);
end;
$fn$;

comment on function dispatch.read_payload(text) is
$doc$Read a text as a payload without ever refusing it.

A JSON object is itself; NULL is an empty object; any other text, be it JSON of another kind or
no JSON at all, is that text as a JSON string.
Errors: none.$doc$;

-- An id that is no uuid is no shape error: whoever wrote it into a text gets an answer.
create or replace function dispatch._check_comment(p_body text, p_mentions jsonb)
returns void
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_mention record;
begin
    perform dispatch._check_text('p_body', p_body, dispatch.document_limit());
    perform dispatch._check_elements(
        'p_mentions', p_mentions, '{"type": "string", "id": "string"}', array['type']
    );
    for v_mention in
        select e.value ->> 'type' as kind, e.value ->> 'id' as id, e.ordinality - 1 as place
        from jsonb_array_elements(p_mentions) with ordinality as e (value, ordinality)
        order by e.ordinality
    loop
        perform dispatch._check_word(
            format('p_mentions[%s].type', v_mention.place), v_mention.kind,
            array['agent', 'squad', 'member', 'all']
        );
        if v_mention.kind <> 'all' and v_mention.id is null then
            perform dispatch._raise(
                'PD400', 'argument missing', format('p_mentions[%s].id', v_mention.place),
                'say whom the comment names.'
            );
        end if;
    end loop;
end;
$fn$;

comment on function dispatch._check_comment(text, jsonb) is
$doc$Refuse a body that is blank or longer than document_limit(), and mentions of a wrong shape.

Errors: PD400 argument missing, text too long, no array, too many elements, an element that is
no object, an unknown key or word, a value of a wrong kind.$doc$;

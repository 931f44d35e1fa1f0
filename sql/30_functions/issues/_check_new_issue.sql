create or replace function dispatch._check_new_issue(
    p_title text,
    p_status text,
    p_priority text,
    p_assignee_type text,
    p_assignee_id uuid,
    p_issue_id uuid,
    p_parent_id uuid,
    p_stage integer
)
returns void
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    perform dispatch._check_text('p_title', p_title, dispatch.name_limit());
    perform dispatch._check_status('p_status', p_status);
    perform dispatch._check_priority('p_priority', p_priority);
    perform dispatch._check_optional_ids(
        array['p_assignee_id', 'p_issue_id', 'p_parent_id'],
        array[p_assignee_id, p_issue_id, p_parent_id]
    );
    if p_assignee_type is not null then
        perform dispatch._check_word(
            'p_assignee_type', p_assignee_type, array['agent', 'squad', 'member']
        );
        perform dispatch._check_ids(array['p_assignee_id'], array[p_assignee_id]);
    elsif p_assignee_id is not null then
        perform dispatch._raise(
            'PD400', 'argument missing', 'p_assignee_type', 'say what the assignee is.'
        );
    end if;
    if p_stage < 0 then
        perform dispatch._raise('PD400', 'stage out of range', 'p_stage', '0 or more.');
    end if;
end;
$fn$;

comment on function dispatch._check_new_issue(
    text, text, text, text, uuid, uuid, uuid, integer
) is
$doc$Refuse the first malformed argument of a creation.

Errors: PD400 argument missing, text too long, unknown word, all-zero id, stage out of
range.$doc$;

-- The identifier comes first: no text is both, since a uuid has more digits than an identifier
-- may have. A text is cast only after its form was judged, so that no cast can fail.
create or replace function dispatch.resolve_issue(p_workspace_id uuid, p_reference text)
returns uuid
language plpgsql
stable
parallel safe
security definer
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_parts constant text[] := regexp_match(
        p_reference, '^([A-Za-z][A-Za-z0-9]{1,9})-([1-9][0-9]{0,17})$'
    );
    v_bare constant text := regexp_replace(p_reference, '^\{(.*)\}$', '\1');
    v_issue uuid;
begin
    perform dispatch._check_ids(array['p_workspace_id'], array[p_workspace_id]);
    if p_reference is null or btrim(p_reference) = '' then
        perform dispatch._raise(
            'PD400', 'argument missing', 'p_reference', 'give an identifier or a uuid.'
        );
    end if;
    if v_parts is not null then
        select i.id
        into v_issue
        from dispatch.workspace as w
        inner join dispatch.issue as i on i.workspace_id = w.id
        where w.id = p_workspace_id
            and i.workspace_id = p_workspace_id
            and w.issue_prefix = upper(v_parts[1] collate "C")
            and i.number = v_parts[2]::bigint;
    elsif v_bare ~* '^([0-9a-f]{4}-?){7}[0-9a-f]{4}$' then
        select i.id
        into v_issue
        from dispatch.issue as i
        where i.workspace_id = p_workspace_id and i.id = v_bare::uuid;
    end if;
    if v_issue is null then
        perform dispatch._raise(
            'PD404', 'issue not found', 'p_reference', 'name an issue of the workspace.'
        );
    end if;
    return v_issue;
end;
$fn$;

comment on function dispatch.resolve_issue(uuid, text) is
$doc$Find an issue by what people write: its identifier, as ABC-42, or its id.

The prefix must be the workspace's own, in either case; a uuid may have any form that the server
reads. A foreign issue, another prefix and a malformed text are not found, alike; nor is the
all-zero uuid. Rule: issue-to-run 9.
Errors: PD400 argument missing, PD404 issue not found.$doc$;

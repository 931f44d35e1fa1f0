create or replace function dispatch.put_workspace(
    p_workspace_id uuid,
    p_name text,
    p_issue_prefix text default null,
    p_attribution_policy text default null
)
returns void
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_now constant timestamptz := dispatch.clock();
begin
    perform dispatch._check_ids(array['p_workspace_id'], array[p_workspace_id]);
    perform dispatch._check_text('p_name', p_name, dispatch.name_limit());
    if p_issue_prefix !~ '^[A-Z][A-Z0-9]{1,9}$' then
        perform dispatch._raise(
            'PD400', 'issue prefix of a wrong shape', 'p_issue_prefix',
            'a capital letter and one to nine capital letters or digits.'
        );
    end if;
    if p_attribution_policy is not null then
        perform dispatch._check_word(
            'p_attribution_policy', p_attribution_policy, array['owner_fallback', 'fail_closed']
        );
    end if;
    insert into dispatch.workspace as w (id, name, issue_prefix, attribution_policy, created_at)
    values (
        p_workspace_id, p_name,
        coalesce(p_issue_prefix, dispatch._derive_prefix(p_name)),
        coalesce(p_attribution_policy, 'owner_fallback'),
        v_now
    )
    on conflict (id) do update
    set
        name = p_name,
        issue_prefix = coalesce(p_issue_prefix, w.issue_prefix),
        attribution_policy = coalesce(p_attribution_policy, w.attribution_policy)
    where (w.name, w.issue_prefix, w.attribution_policy) is distinct from (
        p_name,
        coalesce(p_issue_prefix, w.issue_prefix),
        coalesce(p_attribution_policy, w.attribution_policy)
    );
end;
$fn$;

comment on function dispatch.put_workspace(uuid, text, text, text) is
$doc$Store a workspace, or change what is given.

p_issue_prefix leads the identifiers of its issues; NULL keeps it, and derives one from the name
at first. Another prefix renames the existing issues' identifiers too. p_attribution_policy is
owner_fallback, the first default, or fail_closed; NULL keeps it. Two workspaces may have one
prefix. Repeating a call changes nothing. Rule: issue-to-run 8.
Errors: PD400 missing or all-zero argument, name too long, issue prefix of a wrong shape,
unknown policy.$doc$;

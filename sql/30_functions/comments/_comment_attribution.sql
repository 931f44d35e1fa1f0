-- Only what the gate of admission does not work out by itself: it knows members, and agents
-- that act in a run. One resolver serves the invoke gate and the stamp, so they never disagree.
create or replace function dispatch._comment_attribution(
    p_workspace_id uuid,
    p_issue dispatch.issue,
    p_actor_type text,
    p_acting_run_id uuid,
    p_source text,
    out originator_id uuid,
    out accountable_id uuid,
    out attribution_source text,
    out delegated_from_run_id uuid
)
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_is_system constant boolean := p_actor_type = 'system';
begin
    if v_is_system and p_issue.creator_type = 'user' then
        select m.user_id, m.user_id, 'direct_human'
        into originator_id, accountable_id, attribution_source
        from dispatch.member as m
        where m.workspace_id = p_workspace_id and m.user_id = p_issue.creator_id;
    elsif v_is_system and p_issue.origin_type = 'agent_create'
        or p_actor_type = 'agent' and p_source = 'comment'
    then
        select
            d.originator_id, coalesce(d.originator_id, d.accountable_id),
            case when v_is_system then 'delegation' else 'comment_source' end, d.run_id
        into originator_id, accountable_id, attribution_source, delegated_from_run_id
        from dispatch.run_detail as d
        where d.workspace_id = p_workspace_id
            and d.run_id = case when v_is_system then p_issue.origin_id else p_acting_run_id end
            and num_nonnulls(d.originator_id, d.accountable_id) > 0;
    end if;
end;
$fn$;

comment on function dispatch._comment_attribution(
    uuid, dispatch.issue, text, uuid, text
) is
$doc$Give who answers for a comment's wake where its author is the system, or an agent that
names nobody.

For the system whoever answers for the issue: the member who created it, or those of the run
that did. For an agent those of its acting run. NULLs when there is nobody, and for all other
wakes, which admission attributes. Rule: dispatch 11.2.
Errors: none.$doc$;

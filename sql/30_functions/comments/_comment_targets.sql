-- The first rule that fits decides, and a later one is not asked when it gives nobody. Only
-- people's words wake the assignee, so that two agents do not keep each other busy.
create or replace function dispatch._comment_targets(
    p_workspace_id uuid,
    p_issue dispatch.issue,
    p_comment dispatch.comment
)
returns dispatch._target[]
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_targets dispatch._target[];
    v_parent_type text;
    v_parent_id uuid;
begin
    if p_comment.body ~* '^\s*/note(\s|$)' then
        return '{}'::dispatch._target[];
    end if;
    v_targets := dispatch._read_mentions(p_comment.mentions);
    if cardinality(v_targets) > 0 or p_comment.mentions <> '[]' then
        return v_targets;
    elsif p_comment.author_type <> 'user' and p_issue.assignee_type is distinct from 'squad'
    then
        return v_targets;
    end if;

    if p_comment.author_type = 'user' and p_comment.parent_id is not null then
        select c.author_type, c.author_id
        into v_parent_type, v_parent_id
        from dispatch.comment as c
        where c.workspace_id = p_workspace_id and c.id = p_comment.parent_id;
        if v_parent_type = 'agent' then
            return array[
                row('agent', v_parent_id, 'comment', true, null, null, null)::dispatch._target
            ];
        end if;
        v_targets := dispatch._thread_owners(p_workspace_id, p_comment.parent_id);
        if cardinality(v_targets) > 0 or v_parent_type = 'user' then
            return v_targets;
        end if;
    end if;
    if p_issue.assignee_type in ('agent', 'squad') then
        v_targets := array[
            row(
                p_issue.assignee_type, p_issue.assignee_id, 'comment', false, null, null, null
            )::dispatch._target
        ];
    end if;
    return v_targets;
end;
$fn$;

comment on function dispatch._comment_targets(uuid, dispatch.issue, dispatch.comment) is
$doc$Give the agents and squads that a comment asks for work.

The first that fits: nobody for a note (/note as its first word); the agents and squads that it
names; nobody when it names all or members only; for an agent's or the system's word the squad
that has the issue; for a reply to an agent that agent; for a reply to a member whoever the
thread belongs to; the assignee. Rule: dispatch 3.3.
Errors: none.$doc$;

create or replace function dispatch._judge_targets(
    p_workspace_id uuid,
    p_issue dispatch.issue,
    p_comment dispatch.comment,
    p_actor_type text,
    p_originator_id uuid
)
returns dispatch._target[]
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_targets dispatch._target[] := '{}'::dispatch._target[];
    v_target dispatch._target;
    v_human uuid := p_originator_id;
begin
    if p_actor_type = 'system' then
        v_human := (
            select a.originator_id
            from dispatch._comment_attribution(
                p_workspace_id, p_issue, p_actor_type, null, 'comment'
            ) as a
        );
    end if;
    foreach v_target in array
        dispatch._comment_targets(p_workspace_id, p_issue, p_comment)
    loop
        if v_target.code is null then
            v_target := dispatch._judge_target(
                p_workspace_id, p_comment, v_target, p_actor_type, v_human
            );
        end if;
        if v_target.target_type is not null then
            v_targets := v_targets || v_target;
        end if;
    end loop;
    return v_targets;
end;
$fn$;

comment on function dispatch._judge_targets(
    uuid, dispatch.issue, dispatch.comment, text, uuid
) is
$doc$Give whom a comment asks for work, each judged by who acts: p_originator_id is the human at
the top of the actor's chain, for the system whoever answers for the issue.

Errors: none.$doc$;

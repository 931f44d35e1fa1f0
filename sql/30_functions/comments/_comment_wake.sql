-- A wake that comes of an edit or a deletion has no key: the comment has woken the agent before
-- under the key that it would get.
create or replace function dispatch._comment_wake(
    p_workspace_id uuid,
    p_issue dispatch.issue,
    p_comment dispatch.comment,
    p_target dispatch._target,
    p_squad_id uuid,
    p_actor_type text,
    p_actor_id uuid,
    p_acting_run_id uuid,
    p_is_new boolean
)
returns dispatch.wake
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_wake dispatch.wake;
begin
    v_wake.agent_id := p_target.agent_id;
    v_wake.source := p_target.source;
    v_wake.reason := case p_target.source
        when 'mention' then 'task_mentioned' else 'task_comment'
    end;
    v_wake.payload := jsonb_build_object('task_id', p_issue.id, 'comment_id', p_comment.id);
    if p_is_new then
        v_wake.idempotency_key := format(
            '%s:%s:%s', v_wake.reason, p_comment.id, p_target.agent_id
        );
    end if;
    v_wake.issue_id := p_issue.id;
    v_wake.comment_id := p_comment.id;
    v_wake.priority := dispatch._priority_rank(p_issue.priority);
    v_wake.coalesce := true;
    v_wake.actor_type := p_actor_type;
    v_wake.actor_id := p_actor_id;
    v_wake.acting_run_id := p_acting_run_id;
    v_wake.evidence_kind := 'comment';
    v_wake.evidence_id := p_comment.id;
    v_wake.is_leader_run := p_squad_id is not null;
    v_wake.squad_id := p_squad_id;
    -- Whom a leader's run names works for the leader's squad.
    if p_squad_id is null and p_target.source = 'mention' then
        select d.squad_id
        into v_wake.squad_id
        from dispatch.run_detail as d
        where d.workspace_id = p_workspace_id
            and d.run_id = p_acting_run_id
            and d.is_leader_run;
    end if;
    select a.originator_id, a.accountable_id, a.attribution_source, a.delegated_from_run_id
    into
        v_wake.originator_id, v_wake.accountable_id, v_wake.attribution_source,
        v_wake.delegated_from_run_id
    from dispatch._comment_attribution(
        p_workspace_id, p_issue, p_actor_type, p_acting_run_id, p_target.source
    ) as a;
    if v_wake.attribution_source is not null then
        v_wake.skip := array['attribution'];
    end if;
    return v_wake;
end;
$fn$;

comment on function dispatch._comment_wake(
    uuid, dispatch.issue, dispatch.comment, dispatch._target, uuid, text, uuid, uuid, boolean
) is
$doc$Make the wake of a comment for one agent; p_squad_id is the squad whose leader it is asked
as.

The payload names the issue as task_id, and the comment. Rule: dispatch 3.3.
Errors: none.$doc$;

-- The tail of every comment. All its wakes go to admission in one call, so that the locks are
-- taken in order; targets that come to one agent share one wake.
create or replace function dispatch._wake_targets(
    p_workspace_id uuid,
    p_issue dispatch.issue,
    p_comment dispatch.comment,
    p_targets dispatch._target[],
    p_actor_type text,
    p_actor_id uuid,
    p_acting_run_id uuid,
    p_is_new boolean
)
returns dispatch.comment_answer[]
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_wakes dispatch.wake[] := '{}'::dispatch.wake[];
    v_agents uuid[] := '{}'::uuid[];
    v_decisions dispatch.decision[] := '{}'::dispatch.decision[];
    v_squad uuid;
    v_target dispatch._target;
begin
    foreach v_target in array p_targets loop
        continue when v_target.code is not null or v_target.agent_id = any(v_agents);
        v_squad := (
            select t.target_id
            from unnest(p_targets) with ordinality as t
            where t.agent_id = v_target.agent_id
                and t.target_type = 'squad'
                and t.code is null
            order by t.ordinality
            limit 1
        );
        v_agents := v_agents || v_target.agent_id;
        v_wakes := v_wakes || dispatch._comment_wake(
            p_workspace_id, p_issue, p_comment, v_target, v_squad, p_actor_type, p_actor_id,
            p_acting_run_id, p_is_new
        );
    end loop;
    if cardinality(v_wakes) > 0 then
        v_decisions := array(
            select d from dispatch._admit_wakes(p_workspace_id, v_wakes) as d
        );
    end if;
    perform dispatch._record_refusals(
        p_workspace_id, p_issue.id, p_targets, p_actor_type, p_actor_id
    );
    return array(
        select row(
            p_comment.id, t.target_type, t.target_id,
            coalesce(
                d.outcome::text,
                case t.code when 'already_active' then 'absorbed' else 'blocked' end
            ),
            coalesce(t.code, d.reason_code), coalesce(t.run_id, d.run_id),
            case when t.code is not null then t.agent_id else d.agent_id end
        )::dispatch.comment_answer
        from unnest(p_targets) with ordinality as t
        left join unnest(v_agents) with ordinality as a (id, place)
            on a.id = t.agent_id and t.code is null
        left join unnest(v_decisions) with ordinality as d on d.ordinality = a.place
        order by t.ordinality
    );
end;
$fn$;

comment on function dispatch._wake_targets(
    uuid, dispatch.issue, dispatch.comment, dispatch._target[], text, uuid, uuid, boolean
) is
$doc$Take the wakes of a comment through admission: one answer a target, in their order.

An agent that is asked for itself and as a squad's leader runs once, as the leader. p_is_new:
the wakes have keys.
Errors: as _admit_wakes.$doc$;

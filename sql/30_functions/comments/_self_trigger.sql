-- A named squad is judged by whether its leader has the issue in hand, an unnamed one by what
-- the leader did there last: as a worker of the squad it reports to its own leading self.
create or replace function dispatch._self_trigger(
    p_workspace_id uuid,
    p_issue_id uuid,
    p_target dispatch._target
)
returns dispatch._target
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_target dispatch._target := p_target;
    v_run dispatch.run;
    v_is_leader boolean;
    v_squad uuid;
begin
    if v_target.source = 'mention' then
        v_run := dispatch._standing_pair_run(p_workspace_id, p_issue_id, v_target.agent_id);
        if v_run.id is not null and v_run.status <> 'deferred' then
            v_target.code := 'already_active'::dispatch.reason_code;
            v_target.run_id := v_run.id;
            return v_target;
        end if;
    else
        select d.is_leader_run, d.squad_id
        into v_is_leader, v_squad
        from dispatch.run_detail as d
        cross join lateral (
            select s.agent_id
            from dispatch.run as s
            where s.workspace_id = p_workspace_id and s.id = d.run_id
            limit 1
        ) as r
        where d.workspace_id = p_workspace_id
            and d.issue_id = p_issue_id
            and r.agent_id = v_target.agent_id
        order by d.requested_at desc, d.run_id desc
        limit 1;
        if not found or (not v_is_leader and v_squad = v_target.target_id) then
            return v_target;
        end if;
    end if;
    v_target.code := 'self_trigger_suppressed'::dispatch.reason_code;
    return v_target;
end;
$fn$;

comment on function dispatch._self_trigger(uuid, uuid, dispatch._target) is
$doc$Settle a squad that its own leader asks for work, unless the leader may wake itself.

Named: already_active with the run that the leader has on the issue, else
self_trigger_suppressed. Not named: passes when the leader has had no run on the issue, or its
last one there was a worker's of this squad. Rule: dispatch 8; issue-to-run 6.
Errors: none.$doc$;

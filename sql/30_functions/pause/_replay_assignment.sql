create or replace function dispatch._replay_assignment(
    p_old dispatch.deferred_assignment,
    p_issue dispatch.issue
)
returns boolean
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_wake dispatch.wake;
    v_decision dispatch.decision;
    v_resolution text := 'dropped';
    v_now timestamptz;
begin
    if p_issue.id is not null
        and p_issue.assignee_id = coalesce(p_old.squad_id, p_old.agent_id)
        and p_issue.assignment_generation = p_old.assignment_generation
    then
        v_wake := dispatch._issue_wake(
            p_issue, p_old.agent_id, p_old.squad_id, 'assign', p_old.actor_type, p_old.actor_id,
            null, p_old.handoff_note
        );
        v_wake.originator_id := p_old.originator_id;
        v_wake.accountable_id := p_old.accountable_id;
        v_wake.attribution_source := p_old.attribution_source;
        v_wake.delegated_from_run_id := p_old.delegated_from_run_id;
        if p_old.attribution_source is not null then
            v_wake.skip := array['attribution'];
        end if;
        select d.outcome, d.reason_code, d.run_id, d.agent_id, d.source, d.detail
        into v_decision
        from dispatch._admit_wakes(p_old.workspace_id, array[v_wake]) as d;
        v_resolution := case
            when v_decision.outcome in ('queued', 'coalesced', 'absorbed', 'deduplicated')
                then 'replayed'
            when v_decision.outcome = 'blocked'
                and v_decision.reason_code not in ('paused', 'pause_unreadable')
                then 'dropped'
        end;
    end if;
    if v_resolution is null then
        return false;
    end if;
    v_now := dispatch.clock();
    update dispatch.deferred_assignment as o
    set resolved_at = v_now, resolution = v_resolution
    where o.workspace_id = p_old.workspace_id
        and o.issue_id = p_old.issue_id
        and o.assignment_generation = p_old.assignment_generation
        and o.resolved_at is null;
    return found;
end;
$fn$;

comment on function dispatch._replay_assignment(
    dispatch.deferred_assignment, dispatch.issue
) is
$doc$Take one remembered assignment through admission again; true when that resolved it.

Dropped when the issue is gone, unassigned, assigned to another or assigned anew since, or when
its agent may not be woken. It stays when the allowance or another pause refuses it. p_issue is
the issue as it stands, NULL when it is gone.
Errors: as _admit_wakes.$doc$;

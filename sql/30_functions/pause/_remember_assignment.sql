-- One record an issue: a later assignment replaces an earlier one, a stale writer replaces
-- nothing.
create or replace function dispatch._remember_assignment(
    p_workspace_id uuid,
    p_wake dispatch.wake,
    p_now timestamptz
)
returns void
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    if p_wake.reason <> 'task_assigned' or p_wake.issue_id is null then
        return;
    end if;
    insert into dispatch.deferred_assignment as o (
        workspace_id, issue_id, agent_id, assignment_generation, actor_type, actor_id,
        created_at, originator_id, accountable_id, attribution_source, delegated_from_run_id,
        squad_id, handoff_note
    )
    select
        i.workspace_id, i.id, p_wake.agent_id, i.assignment_generation, p_wake.actor_type,
        p_wake.actor_id, p_now, p_wake.originator_id, p_wake.accountable_id,
        p_wake.attribution_source, p_wake.delegated_from_run_id, p_wake.squad_id,
        p_wake.handoff_note
    from dispatch.issue as i
    where i.workspace_id = p_workspace_id
        and i.id = p_wake.issue_id
        and i.assignee_id = coalesce(p_wake.squad_id, p_wake.agent_id)
        and (
            p_wake.idempotency_key is null
            or p_wake.idempotency_key = format(
                'task_assigned:%s:%s:%s', i.id, p_wake.agent_id, i.assignment_generation
            )
        )
    on conflict (workspace_id, issue_id) do update
    set
        agent_id = excluded.agent_id,
        assignment_generation = excluded.assignment_generation,
        actor_type = excluded.actor_type,
        actor_id = excluded.actor_id,
        created_at = excluded.created_at,
        resolved_at = null,
        resolution = null,
        originator_id = excluded.originator_id,
        accountable_id = excluded.accountable_id,
        attribution_source = excluded.attribution_source,
        delegated_from_run_id = excluded.delegated_from_run_id,
        squad_id = excluded.squad_id,
        handoff_note = excluded.handoff_note
    where o.resolved_at is not null
        or o.assignment_generation < excluded.assignment_generation
        or (
            o.assignment_generation = excluded.assignment_generation
            and o.actor_id is null
            and excluded.actor_id is not null
        );
end;
$fn$;

comment on function dispatch._remember_assignment(uuid, dispatch.wake, timestamptz) is
$doc$Keep an assignment that a pause refused for replay when the pause ends.

Only while the issue is still assigned as the wake says, at the generation of its key. Replaces
a record that is resolved, of a lower generation, or of the same one without an actor. Rule:
admission 7.4.
Errors: none.$doc$;

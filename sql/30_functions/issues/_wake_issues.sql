-- The tail of every write to issues. All wakes of a batch go to admission in one call, so that
-- its locks are taken in order and its statements are set-based. A preview goes the same way,
-- so that it cannot say otherwise than the write: only that the predicate asks the invoke gate,
-- but for the assignees that have passed it, and that the wakes are judged, not admitted.
create or replace function dispatch._wake_issues(
    p_workspace_id uuid,
    p_issues dispatch.issue[],
    p_before dispatch.issue[],
    p_is_create boolean,
    p_assignee_changed boolean,
    p_actor_type text,
    p_actor_id uuid,
    p_acting_run_id uuid,
    p_handoff_note text,
    p_suppress_run boolean,
    p_passed_ids uuid[] default null
)
returns dispatch.decision[]
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_decisions dispatch.decision[] := array_fill(
        null::dispatch.decision, array[cardinality(p_issues)]
    );
    v_admitted dispatch.decision[];
    v_wakes dispatch.wake[] := '{}'::dispatch.wake[];
    v_places integer[] := '{}'::integer[];
    v_count integer := 0;
    v_issue dispatch.issue;
    v_before dispatch.issue;
    v_will record;
begin
    for v_i in 1..cardinality(p_issues) loop
        v_issue := p_issues[v_i];
        v_before := p_before[v_i];
        select w.will_run, w.agent_id, w.squad_id, w.source, w.why
        into v_will
        from dispatch.will_enqueue_run(
            p_workspace_id, v_issue, v_before.status, p_is_create, p_assignee_changed,
            v_issue.status is distinct from v_before.status, p_actor_type, p_actor_id,
            p_acting_run_id, coalesce(not v_issue.assignee_id = any(p_passed_ids), false)
        ) as w;
        if v_will.will_run and not p_suppress_run then
            v_count := v_count + 1;
            v_places[v_count] := v_i;
            v_wakes[v_count] := dispatch._issue_wake(
                v_issue, v_will.agent_id, v_will.squad_id, v_will.source, p_actor_type,
                p_actor_id, p_acting_run_id, p_handoff_note
            );
        else
            v_decisions[v_i] := row(
                'none', 'not_triggered', null, null, null,
                jsonb_build_object('why', coalesce(v_will.why, 'suppressed'))
            )::dispatch.decision;
        end if;
    end loop;
    if v_count > 0 then
        if p_passed_ids is not null then
            v_admitted := dispatch._preview_wakes(p_workspace_id, v_wakes);
        else
            v_admitted := array(
                select d from dispatch._admit_wakes(p_workspace_id, v_wakes) as d
            );
        end if;
        for v_i in 1..v_count loop
            v_decisions[v_places[v_i]] := v_admitted[v_i];
        end loop;
    end if;
    return v_decisions;
end;
$fn$;

comment on function dispatch._wake_issues(
    uuid, dispatch.issue[], dispatch.issue[], boolean, boolean, text, uuid, uuid, text,
    boolean, uuid[]
) is
$doc$Ask the predicate about each written issue and take the wakes through admission.

p_issues are the rows after the write, p_before the same rows before it, NULLs for a creation.
Returns one decision an issue in the same order: none with the predicate's word (suppressed when
only p_suppress_run keeps the run from starting), or what admission decided. p_passed_ids given:
a preview, which answers with what it would decide and writes nothing; the ids are those of
assignees that the actor is known to be allowed.
Errors: as _admit_wakes.$doc$;

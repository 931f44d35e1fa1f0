-- Locks: issues FOR NO KEY UPDATE by id, then what admission locks (agents, runs). The instant
-- is read once, after the issues' locks. The plans are generic: with an array in hand the
-- planner would think a new plan cheaper on every call, and spend more on it than on the work.
create or replace function dispatch._write_issues(
    p_workspace_id uuid,
    p_issue_ids uuid[],
    p_changes jsonb,
    p_actor_type text,
    p_actor_id uuid,
    p_acting_run_id uuid,
    p_handoff_note text,
    p_suppress_run boolean,
    p_is_batch boolean
)
returns dispatch.issue_write[]
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $fn$
declare
    v_title text;
    v_status text;
    v_priority text;
    v_is_assigned boolean;
    v_assignee_type text;
    v_assignee uuid;
    v_prefix text;
    v_originator uuid;
    v_refusal dispatch.reason_code;
    v_old dispatch.issue[];
    v_new dispatch.issue[];
    v_decisions dispatch.decision[];
    v_answers dispatch.issue_write[] := '{}'::dispatch.issue_write[];
begin
    select c.title, c.status, c.priority, c.is_assigned, c.assignee_type, c.assignee_id
    into v_title, v_status, v_priority, v_is_assigned, v_assignee_type, v_assignee
    from dispatch._read_changes(p_changes) as c;
    perform dispatch._check_run_options(p_handoff_note, p_suppress_run);
    v_prefix := dispatch._issue_prefix(p_workspace_id);
    v_originator := dispatch._resolve_actor(
        p_workspace_id, p_actor_type, p_actor_id, p_acting_run_id
    );
    v_old := array(
        select i
        from dispatch.issue as i
        where i.workspace_id = p_workspace_id and i.id = any(p_issue_ids)
        order by i.id
        for no key update
    );
    if not p_is_batch and cardinality(v_old) = 0 then
        perform dispatch._raise(
            'PD404', 'issue not found', 'p_issue_id', 'name an issue of the workspace.'
        );
    end if;
    if v_is_assigned then
        v_refusal := dispatch._assignee_refusal(
            p_workspace_id, 'p_changes.assignee', v_assignee_type, v_assignee, p_actor_type,
            v_originator
        );
    end if;

    if v_refusal is null then
        v_new := dispatch._store_changes(
            p_workspace_id, v_old, v_title, v_status, v_priority, v_is_assigned,
            v_assignee_type, v_assignee, dispatch.clock()
        );
        v_decisions := dispatch._wake_issues(
            p_workspace_id, v_new, v_old, false, v_is_assigned, p_actor_type, p_actor_id,
            p_acting_run_id, p_handoff_note, p_suppress_run
        );
    elsif p_is_batch then
        v_new := v_old;
        v_decisions := array_fill(
            row('blocked', v_refusal, null, null, null, null)::dispatch.decision,
            array[cardinality(v_old)]
        );
    else
        perform dispatch._refuse_assignee('p_changes.assignee', v_refusal);
    end if;
    for v_i in 1..cardinality(v_new) loop
        v_answers[v_i] := dispatch._issue_answer(v_prefix, v_new[v_i], v_decisions[v_i]);
    end loop;
    return v_answers;
end;
$fn$;

comment on function dispatch._write_issues(
    uuid, uuid[], jsonb, text, uuid, uuid, text, boolean, boolean
) is
$doc$Write the same changes into issues, and wake whom the writes start: one answer a known id,
by id.

A refused assignee leaves the issues as they are: in a batch it is each answer's blocked, else
an error, as is an unknown id. Unknown ids of a batch have no answer.
Errors: PD400 malformed changes, missing or too long argument, wrong actor, assignee no member
or (DETAIL target_unavailable) archived; PD403 wrong actor, or assignee not allowed (DETAIL
invocation_not_allowed); PD404 workspace or issue not found; PD409 pending slot contended.$doc$;

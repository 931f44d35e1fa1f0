-- Locks: run rows through _settle_wakes, then what the two inserts wait for. Rows go in by pair
-- and by key, so that two batches wait for each other in one order. Each insert yields to
-- exactly its own index: the loser of the pair's looks for the slot again, the loser of the
-- key's takes its run row back and answers with the run that has the key.
create or replace function dispatch._admit_round(
    p_workspace_id uuid,
    p_round dispatch._candidate[],
    p_now timestamptz
)
returns dispatch._ruling[]
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_left dispatch._candidate[] := p_round;
    v_rulings dispatch._ruling[] := '{}'::dispatch._ruling[];
    v_new dispatch._ruling[];
    v_made uuid[];
    v_kept uuid[];
begin
    for v_try in 1..4 loop
        v_new := dispatch._settle_wakes(p_workspace_id, v_left, p_now);
        if cardinality(v_new) > 0 then
            v_rulings := v_rulings || v_new;
            v_left := dispatch._without(v_left, v_new);
            exit when cardinality(v_left) = 0;
        end if;

        with made as (
            insert into dispatch.run (
                workspace_id, id, agent_id, runtime_id, issue_id, lane, status, priority,
                attempt, max_attempts, requested_at, fire_at
            )
            select
                p_workspace_id, c.run_id, (c.wake).agent_id, (c.wake).runtime_id,
                (c.wake).issue_id,
                coalesce(
                    (c.wake).issue_id, (c.wake).chat_session_id,
                    case
                        when (c.wake).autopilot_run_id is null then (c.wake).agent_id
                        else c.run_id
                    end
                ),
                case when (c.wake).fire_at is null then 'queued' else 'deferred' end
                ::dispatch.run_status,
                (c.wake).priority, (c.wake).attempt, (c.wake).max_attempts, p_now,
                (c.wake).fire_at
            from unnest(v_left) as c
            order by (c.wake).agent_id, (c.wake).issue_id, c.run_id
            on conflict (workspace_id, agent_id, issue_id)
            where status in ('queued', 'dispatched')
            do nothing
            returning id
        )
        select array_agg(m.id) into v_made from made as m;

        with kept as (
            insert into dispatch.run_detail (
                workspace_id, run_id, issue_id, requested_at, reason, source, payload,
                idempotency_key, chat_session_id, autopilot_run_id, comment_id, parent_run_id,
                rerun_of_run_id, escalation_for_run_id, delegated_from_run_id, actor_type,
                actor_id, originator_id, accountable_id, attribution_source, evidence_kind,
                evidence_id, squad_id, is_leader_run, handoff_note, session_id, work_dir,
                force_fresh
            )
            select
                p_workspace_id, c.run_id, (c.wake).issue_id, p_now, (c.wake).reason,
                (c.wake).source, (c.wake).payload, (c.wake).idempotency_key,
                (c.wake).chat_session_id, (c.wake).autopilot_run_id, (c.wake).comment_id,
                (c.wake).parent_run_id, (c.wake).rerun_of_run_id,
                (c.wake).escalation_for_run_id, (c.wake).delegated_from_run_id,
                (c.wake).actor_type, (c.wake).actor_id, (c.wake).originator_id,
                (c.wake).accountable_id, (c.wake).attribution_source, (c.wake).evidence_kind,
                (c.wake).evidence_id, (c.wake).squad_id, (c.wake).is_leader_run,
                (c.wake).handoff_note, (c.wake).session_id, (c.wake).work_dir,
                (c.wake).force_fresh
            from unnest(v_left) as c
            where cardinality(v_made) = cardinality(v_left) or c.run_id = any(v_made)
            order by (c.wake).idempotency_key, c.run_id
            on conflict (workspace_id, idempotency_key)
            where idempotency_key is not null
            do nothing
            returning run_id
        )
        select array_agg(k.run_id) into v_kept from kept as k;

        v_new := dispatch._rule_inserts(p_workspace_id, v_left, v_made, v_kept);
        v_rulings := v_rulings || v_new;
        v_left := dispatch._without(v_left, v_new);
        exit when cardinality(v_left) = 0;
    end loop;
    if cardinality(v_left) > 0 then
        perform dispatch._raise(
            'PD409', 'pending slot contended', 'p_issue_id', 'try the call again.'
        );
    end if;
    return v_rulings;
end;
$fn$;

comment on function dispatch._admit_round(uuid, dispatch._candidate[], timestamptz) is
$doc$Take independent candidates through gates 4 to 8 and insert the runs of those that pass.

The only place that inserts into run and run_detail. Returns one decision a candidate, in no
order.
Errors: PD409 the pending slot changed hands in four rounds.$doc$;

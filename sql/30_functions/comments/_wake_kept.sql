-- What is kept has passed the gates before, so it passes them unasked: an edit must not lose
-- other people's wakes to a pause. The records are copied as a follow-up copies them, so that
-- they are counted where they were decided and nowhere else.
create or replace function dispatch._wake_kept(
    p_workspace_id uuid,
    p_agent_id uuid,
    p_run_ids uuid[],
    p_comment_ids uuid[]
)
returns dispatch.comment_answer[]
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_runs uuid[];
    v_kept dispatch.run_trigger[];
    v_wake dispatch.wake;
    v_decision dispatch.decision;
begin
    v_runs := array(
        select r.id
        from unnest(p_run_ids) as i (id)
        cross join lateral (
            select s.id, s.agent_id
            from dispatch.run as s
            where s.workspace_id = p_workspace_id and s.id = i.id
            limit 1
        ) as r
        where r.agent_id = p_agent_id
    );
    v_kept := array(
        select k
        from dispatch._kept_wakes(p_workspace_id, v_runs, p_comment_ids) as k
        order by k.at, k.seq
    );
    if cardinality(v_kept) = 0 then
        return '{}'::dispatch.comment_answer[];
    end if;
    v_wake := dispatch._kept_wake(p_workspace_id, v_kept);
    select d.outcome, d.reason_code, d.run_id, d.agent_id, d.source, d.detail
    into v_decision
    from dispatch._admit_wakes(p_workspace_id, array[v_wake]) as d;
    if v_decision.outcome = 'absorbed' then
        perform dispatch._record_first_wake(p_workspace_id, v_decision.run_id);
    end if;
    perform dispatch._copy_wakes(p_workspace_id, v_decision.run_id, v_kept);
    return array(
        select row(
            k.comment_id, 'agent', p_agent_id, v_decision.outcome, v_decision.reason_code,
            v_decision.run_id, p_agent_id
        )::dispatch.comment_answer
        from unnest(v_kept) as k
        where k.comment_id is not null
        group by k.comment_id
        order by min(k.at), k.comment_id
    );
end;
$fn$;

comment on function dispatch._wake_kept(uuid, uuid, uuid[], uuid[]) is
$doc$Queue one run of an agent for what its cancelled runs stood for beside p_comment_ids, or
append that to the run that holds the slot.

Errors: as _admit_wakes.$doc$;

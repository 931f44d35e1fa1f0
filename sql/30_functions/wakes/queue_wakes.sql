create or replace function dispatch.queue_wakes(p_workspace_id uuid, p_wakes jsonb)
returns setof dispatch.decision
language plpgsql
volatile
parallel unsafe
rows 10
security definer
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_wakes dispatch.wake[];
begin
    perform dispatch._check_ids(array['p_workspace_id'], array[p_workspace_id]);
    perform dispatch._check_elements(
        'p_wakes',
        p_wakes,
        '{"agent_id": "uuid", "reason": "string", "payload": "any", "idempotency_key": "string",
        "issue_id": "uuid", "chat_session_id": "uuid", "priority": "integer",
        "fire_at": "instant", "originator_id": "uuid", "actor_type": "string",
        "actor_id": "uuid", "acting_run_id": "uuid", "coalesce": "boolean",
        "max_attempts": "integer"}',
        array['agent_id', 'reason']
    );
    v_wakes := dispatch._read_wakes(p_wakes);
    perform dispatch._check_wakes_values(v_wakes);
    perform dispatch._check_wake_actors(p_workspace_id, v_wakes, true);
    v_wakes := dispatch._resolve_wake_issues(p_workspace_id, v_wakes, true);
    return query
    select d.outcome, d.reason_code, d.run_id, d.agent_id, d.source, d.detail
    from dispatch._admit_wakes(p_workspace_id, v_wakes) as d;
end;
$fn$;

comment on function dispatch.queue_wakes(uuid, jsonb) is
$doc$Ask for many runs in one call: one decision an element, in the order given.

p_wakes is an array of at most 1000 objects whose keys are the arguments of queue_wake without
their p_; agent_id and reason are required, a null counts as absent. Elements are decided in
order, each seeing those before it. A refused wake is its element's decision; an element of a
wrong shape refuses the whole call. Rule: as queue_wake.
Errors: as queue_wake, with COLUMN p_wakes[N].KEY counted from 0.$doc$;

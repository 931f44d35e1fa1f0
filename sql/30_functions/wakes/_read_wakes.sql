create or replace function dispatch._read_wakes(p_wakes jsonb)
returns dispatch.wake[]
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    return array(
        select row(
            e.value ->> 'agent_id', e.value ->> 'reason', 'wake',
            coalesce(nullif(e.value -> 'payload', 'null'), '{}'), e.value ->> 'idempotency_key',
            e.value ->> 'issue_id', e.value ->> 'chat_session_id', null, null,
            coalesce((e.value ->> 'priority')::numeric, 0), e.value ->> 'fire_at',
            coalesce((e.value ->> 'coalesce')::boolean, true),
            coalesce((e.value ->> 'max_attempts')::numeric, 2), null, null,
            coalesce(e.value ->> 'actor_type', 'system'), e.value ->> 'actor_id',
            e.value ->> 'acting_run_id', e.value ->> 'originator_id', null, null, null, null,
            null, null, null, null, null, null, null, null, null, null, null
        )::dispatch.wake
        from jsonb_array_elements(p_wakes) with ordinality as e (value, ordinality)
        order by e.ordinality
    );
end;
$fn$;

comment on function dispatch._read_wakes(jsonb) is
$doc$Read checked elements of queue_wakes as wakes, with the defaults of queue_wake.

Errors: none.$doc$;

-- Insert-only, since one counter row would make every refusal wait for the one before it. The
-- row commits and rolls back with the caller's transaction.
create or replace function dispatch._record_gate_event(
    p_workspace_id uuid,
    p_at timestamptz,
    p_reason text,
    p_wake dispatch.wake,
    p_run_id uuid,
    p_detail jsonb
)
returns void
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_id constant uuid := dispatch._uuid_v7(dispatch._uuid_tick());
begin
    insert into dispatch.gate_event (
        workspace_id, id, at, metric, reason, agent_id, issue_id, run_id, actor_type, actor_id,
        detail
    )
    select
        w.id, v_id, p_at, dispatch._gate_metric(p_reason), p_reason, p_wake.agent_id,
        p_wake.issue_id, p_run_id, p_wake.actor_type, p_wake.actor_id,
        coalesce(p_detail, '{}')
    from dispatch.workspace as w
    where w.id = p_workspace_id;
    if p_reason in (
        'allowance_exhausted', 'count_read_failed', 'task_unattributed', 'duplicate_key'
    ) then
        raise warning using
            message = case p_reason
                when 'allowance_exhausted' then 'assignment allowance exhausted'
                when 'count_read_failed' then 'assignment allowance not readable'
                when 'task_unattributed' then 'assignment names no issue'
                else 'idempotency key taken'
            end,
            detail = coalesce(p_detail, '{}') || jsonb_strip_nulls(jsonb_build_object(
                'agent_id', p_wake.agent_id,
                'actor_id', case
                    when jsonb_typeof(p_wake.payload -> 'actor_id') = 'string'
                        then p_wake.payload ->> 'actor_id'
                    else p_wake.actor_id::text
                end
            ));
    end if;
end;
$fn$;

comment on function dispatch._record_gate_event(
    uuid, timestamptz, text, dispatch.wake, uuid, jsonb
) is
$doc$Record that a gate refused a wake, found it to be a duplicate, or admitted it blindly.

The three reasons of the allowance and duplicate_key raise one WARNING each, whose DETAIL is
p_detail with agent_id and the acting actor_id as JSON. A workspace that does not exist has no
record.
Errors: none.$doc$;

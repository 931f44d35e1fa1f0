create or replace function dispatch._duplicate_decision(
    p_workspace_id uuid,
    p_wake dispatch.wake,
    p_run_id uuid,
    p_code dispatch.reason_code
)
returns dispatch.decision
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_agent uuid;
    v_status dispatch.run_status;
begin
    select r.agent_id, r.status
    into v_agent, v_status
    from dispatch.run as r
    where r.workspace_id = p_workspace_id and r.id = p_run_id;
    if v_agent = p_wake.agent_id then
        return row(
            'deduplicated', p_code, p_run_id, v_agent, p_wake.source,
            jsonb_build_object('status', v_status)
        )::dispatch.decision;
    end if;
    return row(
        'deduplicated', p_code, p_run_id, null, p_wake.source, null
    )::dispatch.decision;
end;
$fn$;

comment on function dispatch._duplicate_decision(
    uuid, dispatch.wake, uuid, dispatch.reason_code
) is
$doc$Answer a wake whose key is taken by p_run_id.

Names the agent, and the run's status in detail, only when that run is the asked agent's.
Errors: none.$doc$;

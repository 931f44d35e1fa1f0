create or replace function dispatch._record_refusals(
    p_workspace_id uuid,
    p_issue_id uuid,
    p_targets dispatch._target[],
    p_actor_type text,
    p_actor_id uuid
)
returns void
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_target dispatch._target;
    v_wake dispatch.wake;
    v_now timestamptz;
begin
    v_wake.issue_id := p_issue_id;
    v_wake.actor_type := p_actor_type;
    v_wake.actor_id := p_actor_id;
    foreach v_target in array p_targets loop
        continue when v_target.code is null or v_target.code = 'already_active';
        v_wake.agent_id := coalesce(
            v_target.agent_id,
            case v_target.target_type when 'agent' then v_target.target_id end
        );
        v_now := coalesce(v_now, dispatch.clock());
        perform dispatch._record_gate_event(
            p_workspace_id, v_now, v_target.code::text, v_wake, null, null
        );
    end loop;
end;
$fn$;

comment on function dispatch._record_refusals(
    uuid, uuid, dispatch._target[], text, uuid
) is
$doc$Record the targets of a comment that are refused before admission.

Errors: none.$doc$;

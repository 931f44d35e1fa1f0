create or replace function dispatch.cancel_run(
    p_workspace_id uuid,
    p_run_id uuid,
    p_actor_type text,
    p_actor_id uuid default null,
    p_acting_run_id uuid default null,
    p_reason text default null
)
returns dispatch.transition
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_agent uuid;
    v_claim_no integer;
    v_chat uuid;
    v_originator uuid;
    v_user uuid;
    v_cancelled integer;
    v_now timestamptz;
begin
    perform dispatch._check_ids(
        array['p_workspace_id', 'p_run_id'], array[p_workspace_id, p_run_id]
    );
    v_user := dispatch._resolve_actor(
        p_workspace_id, p_actor_type, p_actor_id, p_acting_run_id
    );
    select r.agent_id, d.chat_session_id, d.originator_id
    into v_agent, v_chat, v_originator
    from dispatch.run as r
    inner join dispatch.run_detail as d
        on d.workspace_id = r.workspace_id and d.run_id = r.id
    where r.workspace_id = p_workspace_id
        and d.workspace_id = p_workspace_id
        and r.id = p_run_id;
    if not found then
        return row(false, p_run_id, null, null, null, 'not_found', null)::dispatch.transition;
    end if;
    if p_actor_type = 'system' then
        null;
    elsif p_actor_type = 'agent'
        or v_chat is not null and v_user is distinct from v_originator
        or not dispatch._may_view(p_workspace_id, v_agent, p_actor_type, p_actor_id)
    then
        perform dispatch._raise(
            'PD403', 'cancel not allowed', 'p_actor_id',
            'act as somebody who may see the runs, or as the originator of a chat.'
        );
    end if;
    perform dispatch._lock_run(p_workspace_id, p_run_id);
    v_now := dispatch.clock();
    v_cancelled := dispatch._cancel_runs(p_workspace_id, array[p_run_id], p_reason, v_now);
    select r.claim_no
    into v_claim_no
    from dispatch.run as r
    where r.workspace_id = p_workspace_id and r.id = p_run_id;
    return dispatch._transition(p_workspace_id, p_run_id, v_claim_no, v_cancelled = 1);
end;
$fn$;

comment on function dispatch.cancel_run(uuid, uuid, text, uuid, uuid, text) is
$doc$Cancel a run that has not ended, in whatever state, with all the wakes recorded on it.

The system may, and members who may see the agent's runs, a run of a chat only its originator;
agents may not.
p_reason is kept as the run's error. A terminal run is already_terminal, an unknown or foreign
one not_found. Rule: issue-to-run 4.
Errors: PD400 missing, unknown or all-zero argument; PD403 cancel not allowed, actor is no
member or agent, or (DETAIL attribution_blocked) the acting run is not active.$doc$;

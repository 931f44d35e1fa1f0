create or replace function dispatch.queue_wake(
    p_workspace_id uuid,
    p_agent_id uuid,
    p_reason text,
    p_payload jsonb default '{}',
    p_idempotency_key text default null,
    p_issue_id uuid default null,
    p_chat_session_id uuid default null,
    p_priority integer default 0,
    p_fire_at timestamptz default null,
    p_originator_id uuid default null,
    p_actor_type text default 'system',
    p_actor_id uuid default null,
    p_acting_run_id uuid default null,
    p_coalesce boolean default true,
    p_max_attempts integer default 2
)
returns dispatch.decision
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_wake dispatch.wake;
    v_wakes dispatch.wake[];
    v_decision dispatch.decision;
begin
    v_wake.agent_id := p_agent_id;
    v_wake.reason := p_reason;
    v_wake.source := 'wake';
    v_wake.payload := p_payload;
    v_wake.idempotency_key := p_idempotency_key;
    v_wake.issue_id := p_issue_id;
    v_wake.chat_session_id := p_chat_session_id;
    v_wake.priority := p_priority;
    v_wake.fire_at := p_fire_at;
    v_wake.coalesce := p_coalesce;
    v_wake.max_attempts := p_max_attempts;
    v_wake.actor_type := p_actor_type;
    v_wake.actor_id := p_actor_id;
    v_wake.acting_run_id := p_acting_run_id;
    v_wake.originator_id := p_originator_id;
    perform dispatch._check_wake(p_workspace_id, v_wake);
    v_wakes := array[v_wake];
    if p_actor_type <> 'system' or num_nonnulls(p_originator_id, p_acting_run_id) > 0 then
        perform dispatch._check_wake_actors(p_workspace_id, v_wakes, false);
    end if;
    if p_issue_id is not null or dispatch._payload_issue_id(p_payload) is not null then
        v_wakes := dispatch._resolve_wake_issues(p_workspace_id, v_wakes, false);
    end if;
    select d.outcome, d.reason_code, d.run_id, d.agent_id, d.source, d.detail
    into v_decision
    from dispatch._admit_wakes(p_workspace_id, v_wakes) as d;
    return v_decision;
end;
$fn$;

comment on function dispatch.queue_wake(
    uuid, uuid, text, jsonb, text, uuid, uuid, integer, timestamptz, uuid, text, uuid, uuid,
    boolean, integer
) is
$doc$Ask for one run of an agent and learn what became of the wish.

For trusted producers: the invoke gate is not asked. p_reason is a word of the caller, at most
100 bytes; p_payload any JSON, at most 1 MiB, stored as given (NULL is an empty object).
p_idempotency_key, at most 255 bytes, makes the wake unique in the workspace; an empty one is
none. p_issue_id binds the run to an issue; left NULL it is the payload's task_id where that
names an issue. p_chat_session_id serialises the runs of one conversation. Higher p_priority is
claimed first. p_fire_at in the future defers the run. p_originator_id is the member for whom
the system acts. p_coalesce false keeps the wake from merging. p_max_attempts counts the first
attempt too. A refusal is data: outcome and reason_code say which gate decided. Rule:
assignment-wake-rate-limit, Where the gate sits; issue-to-run 8.
Errors: PD400 missing, malformed or contradicting argument, originator that is no member or not
the system's; PD403 actor that is no member or agent, or (DETAIL attribution_blocked) acting run
not active; PD404 issue not found; PD409 pending slot contended.$doc$;

-- One function for all arguments, since each call of a function with a pinned path costs the
-- hot path some microseconds.
create or replace function dispatch._check_wake(p_workspace_id uuid, p_wake dispatch.wake)
returns void
language plpgsql
volatile
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_zero constant uuid := '00000000-0000-0000-0000-000000000000'::uuid;
    v_now timestamptz;
begin
    if num_nulls(p_workspace_id, p_wake.agent_id) > 0
        or v_zero in (p_workspace_id, p_wake.agent_id)
    then
        perform dispatch._check_ids(
            array['p_workspace_id', 'p_agent_id'], array[p_workspace_id, p_wake.agent_id]
        );
    elsif p_wake.reason is null
        or btrim(p_wake.reason) = ''
        or octet_length(p_wake.reason) > dispatch.reason_limit()
    then
        perform dispatch._check_text('p_reason', p_wake.reason, dispatch.reason_limit());
    elsif octet_length(p_wake.payload::text) > dispatch.document_limit() then
        perform dispatch._raise(
            'PD400', 'document too long', 'p_payload', 'at most 1048576 bytes of JSON text.'
        );
    elsif octet_length(p_wake.idempotency_key) > dispatch.key_limit() then
        perform dispatch._raise(
            'PD400', 'text too long', 'p_idempotency_key', 'at most 255 bytes.'
        );
    elsif p_wake.priority is null then
        perform dispatch._raise('PD400', 'argument missing', 'p_priority', 'give an integer.');
    elsif p_wake.coalesce is null then
        perform dispatch._raise('PD400', 'argument missing', 'p_coalesce', 'true or false.');
    elsif p_wake.max_attempts is null or p_wake.max_attempts < 1 then
        perform dispatch._raise(
            'PD400', 'attempts out of range', 'p_max_attempts', 'at least 1.'
        );
    elsif p_wake.actor_type is null
        or p_wake.actor_type not in ('user', 'agent', 'system')
    then
        perform dispatch._check_word(
            'p_actor_type', p_wake.actor_type, array['user', 'agent', 'system']
        );
    elsif v_zero in (
        p_wake.issue_id, p_wake.chat_session_id, p_wake.originator_id, p_wake.actor_id,
        p_wake.acting_run_id
    ) then
        perform dispatch._check_optional_ids(
            array[
                'p_issue_id', 'p_chat_session_id', 'p_originator_id', 'p_actor_id',
                'p_acting_run_id'
            ],
            array[
                p_wake.issue_id, p_wake.chat_session_id, p_wake.originator_id,
                p_wake.actor_id, p_wake.acting_run_id
            ]
        );
    elsif p_wake.fire_at is not null then
        v_now := dispatch.clock();
        perform dispatch._check_instant('p_fire_at', p_wake.fire_at, v_now);
    end if;
end;
$fn$;

comment on function dispatch._check_wake(uuid, dispatch.wake) is
$doc$Refuse the first argument of queue_wake that is missing or out of its range.

Errors: PD400 argument missing, all-zero id, text or document too long, attempts or time out of
range, unknown word.$doc$;

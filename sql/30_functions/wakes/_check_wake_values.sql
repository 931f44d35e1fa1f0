create or replace function dispatch._check_wake_values(
    p_payload jsonb,
    p_idempotency_key text,
    p_priority integer,
    p_fire_at timestamptz,
    p_actor_type text,
    p_coalesce boolean,
    p_max_attempts integer
)
returns void
language plpgsql
volatile
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_now constant timestamptz := dispatch.clock();
begin
    if octet_length(p_payload::text) > dispatch.document_limit() then
        perform dispatch._raise(
            'PD400', 'document too long', 'p_payload', 'at most 1048576 bytes of JSON text.'
        );
    elsif octet_length(p_idempotency_key) > dispatch.key_limit() then
        perform dispatch._raise(
            'PD400', 'text too long', 'p_idempotency_key', 'at most 255 bytes.'
        );
    elsif p_priority is null then
        perform dispatch._raise('PD400', 'argument missing', 'p_priority', 'give an integer.');
    elsif p_coalesce is null then
        perform dispatch._raise('PD400', 'argument missing', 'p_coalesce', 'true or false.');
    elsif p_max_attempts is null or p_max_attempts < 1 then
        perform dispatch._raise(
            'PD400', 'attempts out of range', 'p_max_attempts', 'at least 1.'
        );
    elsif p_fire_at is not null then
        perform dispatch._check_instant('p_fire_at', p_fire_at, v_now);
    end if;
    perform dispatch._check_word(
        'p_actor_type', p_actor_type, array['user', 'agent', 'system']
    );
end;
$fn$;

comment on function dispatch._check_wake_values(
    jsonb, text, integer, timestamptz, text, boolean, integer
) is
$doc$Refuse the first value of a wake that is missing or out of its range.

Errors: PD400 argument missing, text or document too long, attempts or time out of range,
unknown word.$doc$;

create or replace function dispatch._check_outcome(
    p_result jsonb,
    p_failure_reason text,
    p_session_lost boolean
)
returns void
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    if octet_length(p_result::text) > dispatch.document_limit() then
        perform dispatch._raise(
            'PD400', 'document too long', 'p_result', 'at most 1048576 bytes of JSON text.'
        );
    elsif octet_length(p_failure_reason) > dispatch.reason_limit() then
        perform dispatch._raise(
            'PD400', 'text too long', 'p_failure_reason', 'at most 100 bytes.'
        );
    elsif p_session_lost is null then
        perform dispatch._raise(
            'PD400', 'argument missing', 'p_session_lost', 'true or false.'
        );
    end if;
end;
$fn$;

comment on function dispatch._check_outcome(jsonb, text, boolean) is
$doc$Refuse a result or failure reason that is too long, and an unsaid p_session_lost.

Errors: PD400 document or text too long, argument missing.$doc$;

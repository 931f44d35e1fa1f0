create or replace function dispatch._check_run_options(
    p_handoff_note text,
    p_suppress_run boolean
)
returns void
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    if octet_length(p_handoff_note) > dispatch.document_limit() then
        perform dispatch._raise(
            'PD400', 'text too long', 'p_handoff_note',
            format('at most %s bytes.', dispatch.document_limit())
        );
    end if;
    if p_suppress_run is null then
        perform dispatch._raise(
            'PD400', 'argument missing', 'p_suppress_run', 'true or false.'
        );
    end if;
end;
$fn$;

comment on function dispatch._check_run_options(text, boolean) is
$doc$Refuse a handoff note longer than document_limit() and a NULL p_suppress_run.

Errors: PD400 text too long or argument missing.$doc$;

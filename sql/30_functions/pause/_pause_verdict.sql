-- A stop switch that opens when it cannot be read is none, so this read fails closed. The
-- exception block writes nothing inside, so it uses up no transaction id.
create or replace function dispatch._pause_verdict(p_workspace_id uuid)
returns dispatch.reason_code
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    if dispatch._workspace_is_paused(p_workspace_id) then
        return 'paused'::dispatch.reason_code;
    end if;
    return null;
exception
    when others then
        if sqlstate like '40%' or sqlstate in ('57014', '0A000') then
            raise;
        end if;
        return 'pause_unreadable'::dispatch.reason_code;
end;
$fn$;

comment on function dispatch._pause_verdict(uuid) is
$doc$Gate 3: give the code with which a pause blocks a wake; NULL when the workspace is not
paused.

A state that cannot be read blocks as pause_unreadable. Rule: assignment-wake-rate-limit,
Failure direction.
Errors: those of class 40, 57014 and 0A000 only.$doc$;

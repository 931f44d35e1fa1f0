create or replace function dispatch._is_retry_of(
    p_workspace_id uuid,
    p_run_id uuid,
    p_of_run_id uuid
)
returns boolean
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_run uuid := p_run_id;
begin
    while v_run is not null loop
        select d.parent_run_id
        into v_run
        from dispatch.run_detail as d
        where d.workspace_id = p_workspace_id and d.run_id = v_run;
        if v_run = p_of_run_id then
            return true;
        end if;
    end loop;
    return false;
end;
$fn$;

comment on function dispatch._is_retry_of(uuid, uuid, uuid) is
$doc$Tell whether a run is the automatic retry of another one, or the retry of its retry.

Errors: none.$doc$;

create or replace function dispatch._owing_runs(p_workspace_id uuid, p_run_ids uuid[])
returns uuid[]
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_run uuid;
    v_owing uuid[] := '{}'::uuid[];
begin
    foreach v_run in array p_run_ids loop
        if exists (
            select
            from dispatch.run_trigger as t
            where t.workspace_id = p_workspace_id
                and t.run_id = v_run
                and t.count > t.delivered_count
        ) then
            v_owing := v_owing || v_run;
        end if;
    end loop;
    return v_owing;
end;
$fn$;

comment on function dispatch._owing_runs(uuid, uuid[]) is
$doc$Give those of the runs that owe wakes: recorded on them, and delivered by no claim.

Errors: none.$doc$;

-- A wake that came too late for a run was handed over to its follow-up; the run never had it,
-- though the record of its coming stands.
create or replace function dispatch._planned_runs(p_workspace_id uuid, p_comment_ids uuid[])
returns uuid[]
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_ended constant dispatch.run_status[] := array[
        'completed', 'failed', 'cancelled'
    ]::dispatch.run_status[];
    v_runs uuid[] := '{}'::uuid[];
    v_run uuid;
begin
    foreach v_run in array dispatch._comment_runs(p_workspace_id, p_comment_ids) loop
        continue when exists (
            select
            from dispatch.run as r
            where r.workspace_id = p_workspace_id
                and r.id = v_run
                and r.status = any(v_ended)
        );
        -- A run without records stands for the one wake of its details.
        if not exists (
            select
            from dispatch.run_trigger as t
            where t.workspace_id = p_workspace_id and t.run_id = v_run
        ) or exists (
            select
            from dispatch._kept_wakes(p_workspace_id, array[v_run], '{}') as k
            where k.comment_id = any(p_comment_ids)
        ) then
            v_runs := v_runs || v_run;
        end if;
    end loop;
    return v_runs;
end;
$fn$;

comment on function dispatch._planned_runs(uuid, uuid[]) is
$doc$Give the runs that have not ended and stand for one of these comments, by id.

Errors: none.$doc$;

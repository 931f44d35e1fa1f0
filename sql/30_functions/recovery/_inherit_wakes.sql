-- A retry that has no records stands for the one wake of its parent, under its own name; that
-- wake comes with the parent.
create or replace function dispatch._inherit_wakes(
    p_workspace_id uuid,
    p_from_run_ids uuid[],
    p_to_run_id uuid
)
returns void
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_from uuid;
begin
    foreach v_from in array p_from_run_ids loop
        continue when not exists (
            select
            from dispatch.run_trigger as t
            where t.workspace_id = p_workspace_id and t.run_id = v_from
        ) and dispatch._is_retry_of(p_workspace_id, v_from, p_from_run_ids[1]);
        perform dispatch._record_first_wake(p_workspace_id, v_from);
        perform dispatch._hand_over(p_workspace_id, v_from, p_to_run_id, false);
    end loop;
end;
$fn$;

comment on function dispatch._inherit_wakes(uuid, uuid[], uuid) is
$doc$Give a run all the wakes that other runs stand for, in the order given, each once; the
others may be retries of the first.

Errors: none.$doc$;

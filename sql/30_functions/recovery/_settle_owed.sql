create or replace function dispatch._settle_owed(p_workspace_id uuid, p_run_ids uuid[])
returns void
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_owing uuid[] := dispatch._owing_runs(p_workspace_id, p_run_ids);
    v_run uuid;
begin
    if cardinality(v_owing) > 1 then
        v_owing := array(select u.id from unnest(v_owing) as u (id) order by u.id);
    end if;
    foreach v_run in array v_owing loop
        perform dispatch._queue_follow_up(p_workspace_id, v_run);
    end loop;
end;
$fn$;

comment on function dispatch._settle_owed(uuid, uuid[]) is
$doc$Queue a follow-up for each of these runs that owes wakes; the runs gave up their pending
slot.

Errors: as _admit_wakes.$doc$;

-- A follow-up locks the run's issue and agent, and both are locked before runs. Only the few
-- runs that owe wakes need it, so the others pay for one look at an index.
create or replace function dispatch._lock_owing(p_workspace_id uuid, p_run_ids uuid[])
returns uuid[]
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_owing constant uuid[] := dispatch._owing_runs(p_workspace_id, p_run_ids);
begin
    if cardinality(v_owing) > 0 then
        perform dispatch._lock_run_owners(p_workspace_id, v_owing);
    end if;
    return v_owing;
end;
$fn$;

comment on function dispatch._lock_owing(uuid, uuid[]) is
$doc$Keep the issues and agents of those runs that owe wakes from being deleted or archived, and
give those runs.

Errors: none.$doc$;

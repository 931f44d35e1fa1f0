create or replace function dispatch._mark_claimed(
    p_workspace_id uuid,
    p_run_ids uuid[],
    p_is_started boolean,
    p_lease interval
)
returns void
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    if cardinality(p_run_ids) > 0 then
        perform dispatch._move_runs(
            p_workspace_id, p_run_ids,
            case when p_is_started then 'running'::dispatch.run_status else 'dispatched' end,
            true, array_fill(p_lease, array[cardinality(p_run_ids)]), dispatch.clock()
        );
    end if;
end;
$fn$;

comment on function dispatch._mark_claimed(uuid, uuid[], boolean, interval) is
$doc$Move queued runs, which the caller holds, to dispatched or to running, with the next claim
number.

Errors: none.$doc$;

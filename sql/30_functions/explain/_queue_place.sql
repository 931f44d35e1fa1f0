create or replace function dispatch._queue_place(p_workspace_id uuid, p_run dispatch.run)
returns bigint
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_place bigint;
begin
    select count(*)
    into v_place
    from dispatch.run as r
    where r.workspace_id = p_workspace_id
        and r.runtime_id = p_run.runtime_id
        and r.agent_id = p_run.agent_id
        and r.status = 'queued'
        and (
            r.priority > p_run.priority
            or (
                r.priority = p_run.priority
                and (r.requested_at, r.id) <= (p_run.requested_at, p_run.id)
            )
        );
    return v_place;
end;
$fn$;

comment on function dispatch._queue_place(uuid, dispatch.run) is
$doc$Give the place of a queued run among those of its agent on its runtime, from 1.

Errors: none.$doc$;

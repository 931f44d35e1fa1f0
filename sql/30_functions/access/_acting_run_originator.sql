-- The status is compared with a variable, so that the key's index is the only one that offers
-- itself.
create or replace function dispatch._acting_run_originator(
    p_workspace_id uuid,
    p_agent_id uuid,
    p_acting_run_id uuid
)
returns uuid
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_active constant dispatch.run_status[] := array[
        'dispatched', 'waiting_local_directory', 'running'
    ]::dispatch.run_status[];
    v_originator uuid;
begin
    if p_acting_run_id is null then
        return null;
    end if;
    select d.originator_id
    into v_originator
    from dispatch.run as r
    inner join dispatch.run_detail as d
        on d.workspace_id = r.workspace_id and d.run_id = r.id
    where r.workspace_id = p_workspace_id
        and d.workspace_id = p_workspace_id
        and r.id = p_acting_run_id
        and r.agent_id = p_agent_id
        and r.status = any(v_active);
    if not found then
        perform dispatch._raise(
            'PD403', 'acting run not active', 'p_acting_run_id',
            'name an active run of the acting agent.', 'attribution_blocked'
        );
    end if;
    return v_originator;
end;
$fn$;

comment on function dispatch._acting_run_originator(uuid, uuid, uuid) is
$doc$Give the originator of the run in which an agent acts; NULL without a run or originator.

Errors: PD403 (DETAIL attribution_blocked) the run is not an active run of that agent.$doc$;

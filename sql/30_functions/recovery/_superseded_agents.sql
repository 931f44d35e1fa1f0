create or replace function dispatch._superseded_agents(p_workspace_id uuid)
returns uuid[]
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_armed constant uuid[] := array(
        select distinct r.agent_id
        from dispatch.run as r
        where r.workspace_id = p_workspace_id
            and r.status = 'deferred'
            and r.attempt > 1
            and r.claim_no = 0
            and r.issue_id is not null
    );
begin
    return array(
        select distinct s.agent_id
        from dispatch._superseded_retries(p_workspace_id, v_armed) as s
    );
end;
$fn$;

comment on function dispatch._superseded_agents(uuid) is
$doc$Give the agents of a workspace that have a retry which another run has replaced.

Errors: none.$doc$;

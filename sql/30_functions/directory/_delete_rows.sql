-- Every table before those that it refers to. The cascades would reach some of these rows as
-- well, but one row at a time.
create or replace function dispatch._delete_rows(p_workspace_id uuid)
returns void
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    delete from dispatch.gate_event as e where e.workspace_id = p_workspace_id;
    delete from dispatch.gate_total as t where t.workspace_id = p_workspace_id;
    delete from dispatch.deferred_assignment as d where d.workspace_id = p_workspace_id;
    delete from dispatch.run_trigger as t where t.workspace_id = p_workspace_id;
    delete from dispatch.run_detail as d where d.workspace_id = p_workspace_id;
    delete from dispatch.run as r where r.workspace_id = p_workspace_id;
    delete from dispatch.comment as c where c.workspace_id = p_workspace_id;
    delete from dispatch.issue as i where i.workspace_id = p_workspace_id;
    delete from dispatch.squad as s where s.workspace_id = p_workspace_id;
    delete from dispatch.agent_grant as g where g.workspace_id = p_workspace_id;
    delete from dispatch.agent as a where a.workspace_id = p_workspace_id;
    delete from dispatch.runtime as r where r.workspace_id = p_workspace_id;
    delete from dispatch.team_member as t where t.workspace_id = p_workspace_id;
    delete from dispatch.team as t where t.workspace_id = p_workspace_id;
    delete from dispatch.member as m where m.workspace_id = p_workspace_id;
    delete from dispatch.workspace_pause as p where p.workspace_id = p_workspace_id;
    delete from dispatch.workspace as w where w.id = p_workspace_id;
end;
$fn$;

comment on function dispatch._delete_rows(uuid) is
$doc$Delete every row of a workspace, and the workspace. The caller holds its locks.

Errors: none.$doc$;

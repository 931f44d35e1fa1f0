-- A paused workspace is left alone before anything is locked: a resume that is under way would
-- skip what is locked here, and then nobody would replay it.
-- Locks: the records, skip locked, so that a resume and a tick share the work; then each issue
-- FOR KEY SHARE, its agent and its runs, as every admission. All issues are locked before the
-- first admission, since agents and runs come after issues.
create or replace function dispatch._replay_assignments(p_workspace_id uuid, p_max integer)
returns integer
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_records uuid[];
    v_issues dispatch.issue[];
    v_issue dispatch.issue;
    v_old dispatch.deferred_assignment;
    v_done integer := 0;
begin
    if dispatch._pause_verdict(p_workspace_id) is not null then
        return 0;
    end if;
    v_records := array(
        select o.issue_id
        from dispatch.deferred_assignment as o
        where o.workspace_id = p_workspace_id and o.resolved_at is null
        order by o.created_at, o.issue_id
        limit p_max
        for update skip locked
    );
    v_issues := array(
        select i
        from dispatch.issue as i
        where i.workspace_id = p_workspace_id and i.id = any(v_records)
        order by i.id
        for key share
    );
    for v_old in
        select
            o.workspace_id, o.issue_id, o.agent_id, o.assignment_generation, o.actor_type,
            o.actor_id, o.created_at, o.resolved_at, o.resolution, o.originator_id,
            o.accountable_id, o.attribution_source, o.delegated_from_run_id, o.squad_id,
            o.handoff_note
        from dispatch.deferred_assignment as o
        where o.workspace_id = p_workspace_id and o.issue_id = any(v_records)
        order by o.created_at, o.issue_id
    loop
        v_issue := null;
        select
            i.workspace_id, i.id, i.number, i.title, i.status, i.priority, i.assignee_type,
            i.assignee_id, i.assignment_generation, i.creator_type, i.creator_id,
            i.origin_type, i.origin_id, i.parent_id, i.stage, i.created_at, i.updated_at
        into v_issue
        from unnest(v_issues) as i
        where i.id = v_old.issue_id;
        if dispatch._replay_assignment(v_old, v_issue) then
            v_done := v_done + 1;
        end if;
    end loop;
    return v_done;
end;
$fn$;

comment on function dispatch._replay_assignments(uuid, integer) is
$doc$Take remembered assignments of a workspace through admission again, oldest first; p_max
NULL means all. Returns how many were resolved, 0 in a workspace that is paused or may be.

Rule: admission 7.4.
Errors: as _admit_wakes.$doc$;

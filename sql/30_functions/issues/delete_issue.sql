-- Locks: the issue and its children FOR UPDATE by id, its runs' agents, then its runs by id. No
-- enqueue for the issue can come in between: it would hold the issue by a key.
create or replace function dispatch.delete_issue(
    p_workspace_id uuid,
    p_issue_id uuid,
    p_actor_type text,
    p_actor_id uuid default null,
    p_acting_run_id uuid default null
)
returns integer
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $fn$
declare
    v_locked uuid[];
    v_runs uuid[];
    v_cancelled integer;
    v_now timestamptz;
begin
    perform dispatch._require_workspace(p_workspace_id);
    perform dispatch._check_ids(array['p_issue_id'], array[p_issue_id]);
    perform dispatch._resolve_actor(p_workspace_id, p_actor_type, p_actor_id, p_acting_run_id);
    v_locked := array(
        select i.id
        from dispatch.issue as i
        where i.workspace_id = p_workspace_id
            and (i.id = p_issue_id or i.parent_id = p_issue_id)
        order by i.id
        for update
    );
    if not p_issue_id = any(v_locked) then
        perform dispatch._raise(
            'PD404', 'issue not found', 'p_issue_id', 'name an issue of the workspace.'
        );
    end if;
    v_runs := array(
        select d.run_id
        from dispatch.run_detail as d
        where d.workspace_id = p_workspace_id and d.issue_id = p_issue_id
        order by d.run_id
    );
    -- A run written twice in one transaction checks its foreign keys: its agent first.
    perform dispatch._lock_run_owners(p_workspace_id, v_runs);
    v_now := dispatch.clock();
    v_cancelled := dispatch._cancel_runs(p_workspace_id, v_runs, 'issue deleted', v_now);

    update dispatch.run as r
    set issue_id = null
    where r.workspace_id = p_workspace_id and r.id = any(v_runs);
    update dispatch.run_detail as d
    set issue_id = null
    where d.workspace_id = p_workspace_id and d.run_id = any(v_runs);
    update dispatch.issue as i
    set parent_id = null
    where i.workspace_id = p_workspace_id and i.parent_id = p_issue_id;
    delete from dispatch.issue as i
    where i.workspace_id = p_workspace_id and i.id = p_issue_id;
    return v_cancelled;
end;
$fn$;

comment on function dispatch.delete_issue(uuid, uuid, text, uuid, uuid) is
$doc$Delete an issue with its comments, and give the number of its runs that this cancels.

Every run of it that has not ended is cancelled, deferred ones too. All its runs stay, without
their issue; its children lose their parent. Rule: issue-to-run 3.
Errors: PD400 missing or all-zero argument; PD403 wrong actor; PD404 workspace or issue not
found.$doc$;

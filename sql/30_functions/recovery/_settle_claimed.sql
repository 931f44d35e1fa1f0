-- Locks: issues FOR KEY SHARE, skip locked. The claim holds agents, which come after issues, so
-- it waits for none: a run whose issue somebody holds keeps what it owes until it ends.
create or replace function dispatch._settle_claimed(p_workspace_id uuid, p_run_ids uuid[])
returns void
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_run uuid;
    v_issue uuid;
begin
    foreach v_run in array dispatch._owing_runs(p_workspace_id, p_run_ids) loop
        select r.issue_id
        into v_issue
        from dispatch.run as r
        where r.workspace_id = p_workspace_id and r.id = v_run;
        if v_issue is not null then
            perform
            from dispatch.issue as s
            where s.workspace_id = p_workspace_id and s.id = v_issue
            for key share skip locked;
            continue when not found;
        end if;
        perform dispatch._queue_follow_up(p_workspace_id, v_run);
    end loop;
end;
$fn$;

comment on function dispatch._settle_claimed(uuid, uuid[]) is
$doc$Queue a follow-up for each of these just started runs whose claim had no room for all its
wakes.

Errors: as _admit_wakes.$doc$;

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
    v_owing record;
begin
    for v_owing in
        select i.id, o.issue_id
        from unnest(p_run_ids) as i (id)
        cross join lateral (
            select r.issue_id
            from dispatch.run as r
            where r.workspace_id = p_workspace_id and r.id = i.id
            limit 1
        ) as o
        where exists (
            select
            from dispatch.run_trigger as t
            where t.workspace_id = p_workspace_id
                and t.run_id = i.id
                and t.count > t.delivered_count
        )
        order by i.id
    loop
        if v_owing.issue_id is not null then
            perform
            from dispatch.issue as s
            where s.workspace_id = p_workspace_id and s.id = v_owing.issue_id
            for key share skip locked;
            continue when not found;
        end if;
        perform dispatch._queue_follow_up(p_workspace_id, v_owing.id);
    end loop;
end;
$fn$;

comment on function dispatch._settle_claimed(uuid, uuid[]) is
$doc$Queue a follow-up for each of these just started runs whose claim had no room for all its
wakes.

Errors: as _admit_wakes.$doc$;

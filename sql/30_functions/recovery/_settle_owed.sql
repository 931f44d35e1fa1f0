create or replace function dispatch._settle_owed(p_workspace_id uuid, p_run_ids uuid[])
returns void
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_run uuid;
begin
    for v_run in
        select i.id
        from unnest(p_run_ids) as i (id)
        where exists (
            select
            from dispatch.run_trigger as t
            where t.workspace_id = p_workspace_id
                and t.run_id = i.id
                and t.count > t.delivered_count
        )
        order by i.id
    loop
        perform dispatch._queue_follow_up(p_workspace_id, v_run);
    end loop;
end;
$fn$;

comment on function dispatch._settle_owed(uuid, uuid[]) is
$doc$Queue a follow-up for each of these runs that owes wakes; the runs gave up their pending
slot.

Errors: as _admit_wakes.$doc$;

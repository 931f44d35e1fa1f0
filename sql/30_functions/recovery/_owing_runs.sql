create or replace function dispatch._owing_runs(p_workspace_id uuid, p_run_ids uuid[])
returns uuid[]
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    if cardinality(p_run_ids) = 1 then
        if exists (
            select
            from dispatch.run_trigger as t
            where t.workspace_id = p_workspace_id
                and t.run_id = p_run_ids[1]
                and t.count > t.delivered_count
        ) then
            return p_run_ids;
        end if;
        return '{}'::uuid[];
    end if;
    return array(
        select i.id
        from unnest(p_run_ids) as i (id)
        where exists (
            select
            from dispatch.run_trigger as t
            where t.workspace_id = p_workspace_id
                and t.run_id = i.id
                and t.count > t.delivered_count
        )
    );
end;
$fn$;

comment on function dispatch._owing_runs(uuid, uuid[]) is
$doc$Give those of the runs that owe wakes: recorded on them, and delivered by no claim.

Errors: none.$doc$;

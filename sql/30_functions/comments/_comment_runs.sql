create or replace function dispatch._comment_runs(p_workspace_id uuid, p_comment_ids uuid[])
returns uuid[]
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    return array(
        select f.run_id
        from unnest(p_comment_ids) as i (id)
        cross join lateral (
            select d.run_id
            from dispatch.run_detail as d
            where d.workspace_id = p_workspace_id and d.comment_id = i.id
            union
            select t.run_id
            from dispatch.run_trigger as t
            where t.workspace_id = p_workspace_id and t.comment_id = i.id
        ) as f
        group by f.run_id
        order by f.run_id
    );
end;
$fn$;

comment on function dispatch._comment_runs(uuid, uuid[]) is
$doc$Give the runs, in whatever state, that stand or stood for one of these comments, by id.

Errors: none.$doc$;

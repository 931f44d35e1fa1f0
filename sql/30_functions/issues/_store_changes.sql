-- Only rows that differ are written. The caller holds all of them FOR NO KEY UPDATE.
create or replace function dispatch._store_changes(
    p_workspace_id uuid,
    p_issues dispatch.issue[],
    p_title text,
    p_status text,
    p_priority text,
    p_is_assigned boolean,
    p_assignee_type text,
    p_assignee_id uuid,
    p_now timestamptz
)
returns dispatch.issue[]
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_issues dispatch.issue[];
begin
    with changed as (
        update dispatch.issue as i
        set
            title = coalesce(p_title, i.title),
            status = coalesce(p_status, i.status),
            priority = coalesce(p_priority, i.priority),
            assignee_type = case
                when p_is_assigned then p_assignee_type else i.assignee_type
            end,
            assignee_id = case when p_is_assigned then p_assignee_id else i.assignee_id end,
            assignment_generation = i.assignment_generation + p_is_assigned::integer,
            updated_at = p_now
        from unnest(p_issues) as o
        where i.workspace_id = p_workspace_id
            and i.id = o.id
            and (
                p_is_assigned
                or i.title <> p_title
                or i.status <> p_status
                or i.priority <> p_priority
            )
        returning i as issue, i.id
    )
    select array_agg(coalesce(c.issue, o) order by o.id)
    into v_issues
    from unnest(p_issues) as o
    left join changed as c on c.id = o.id;
    return coalesce(v_issues, '{}');
end;
$fn$;

comment on function dispatch._store_changes(
    uuid, dispatch.issue[], text, text, text, boolean, text, uuid, timestamptz
) is
$doc$Write changes into locked issues and give the rows after it, by id.

A NULL field is not written; p_is_assigned tells that the assignee is. A written assignee counts
as an assignment even when it is the same one: the generation grows. Any other field that is
equal already is no change, and a row without a change keeps its updated_at.
Errors: none.$doc$;

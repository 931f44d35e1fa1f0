create or replace function dispatch._known_runtimes(p_workspace_id uuid, p_runtime_ids uuid[])
returns uuid[]
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_known uuid[];
    v_daemons bigint;
begin
    if p_runtime_ids is null then
        perform dispatch._raise(
            'PD400', 'argument missing', 'p_runtime_ids', 'give an array of runtime ids.'
        );
    end if;
    select array_agg(r.id order by r.id), count(distinct r.daemon_id)
    into v_known, v_daemons
    from (select distinct u.id from unnest(p_runtime_ids) as u (id)) as i
    cross join lateral (
        select t.id, t.daemon_id
        from dispatch.runtime as t
        where t.workspace_id = p_workspace_id and t.id = i.id
        limit 1
    ) as r;
    if v_daemons > 1 then
        perform dispatch._raise(
            'PD400', 'runtimes of two daemons', 'p_runtime_ids',
            'name the runtimes of one daemon in one call.'
        );
    end if;
    return coalesce(v_known, '{}');
end;
$fn$;

comment on function dispatch._known_runtimes(uuid, uuid[]) is
$doc$Give those of the runtimes that the workspace has, each once; unknown ids are left out.

Errors: PD400 argument missing, or the runtimes belong to more than one daemon.$doc$;

create or replace function dispatch._thread_owners(p_workspace_id uuid, p_comment_id uuid)
returns dispatch._target[]
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_root uuid := p_comment_id;
    v_parent uuid;
    v_mentions jsonb;
    v_named dispatch._target[];
    v_runs uuid[];
begin
    loop
        select c.parent_id, c.mentions
        into v_parent, v_mentions
        from dispatch.comment as c
        where c.workspace_id = p_workspace_id and c.id = v_root;
        exit when v_parent is null;
        v_root := v_parent;
    end loop;
    v_named := dispatch._read_mentions(v_mentions);
    if cardinality(v_named) > 0 then
        return array(
            select row(n.target_type, n.target_id, 'comment', true, null, null, null)
            ::dispatch._target
            from unnest(v_named[1:1]) as n
        );
    end if;
    v_runs := dispatch._comment_runs(p_workspace_id, array[v_root]);
    return array(
        select row('agent', o.agent_id, 'comment', true, null, null, null)::dispatch._target
        from (
            select r.agent_id, min(r.id::text) as first_run
            from unnest(v_runs) as i (id)
            cross join lateral (
                select s.id, s.agent_id
                from dispatch.run as s
                where s.workspace_id = p_workspace_id and s.id = i.id
                limit 1
            ) as r
            group by r.agent_id
        ) as o
        order by o.first_run
    );
end;
$fn$;

comment on function dispatch._thread_owners(uuid, uuid) is
$doc$Give whom the thread of a comment belongs to: the first agent or squad that its root names,
else the agents that its root has woken.

Errors: none.$doc$;

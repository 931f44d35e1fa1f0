-- One statement for all that a claim has to know before it takes a lock, since it is asked by
-- every idle daemon all the time.
create or replace function dispatch._look_at_runtimes(
    p_workspace_id uuid,
    p_runtime_ids uuid[],
    p_now timestamptz,
    out daemons bigint,
    out fresh uuid[],
    out has_due boolean,
    out has_stale boolean
)
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    select
        count(distinct r.daemon_id),
        array_agg(r.id order by r.id) filter (where r.is_fresh),
        bool_or(r.is_fresh and exists (
            select
            from dispatch.run as d
            where d.workspace_id = p_workspace_id
                and d.runtime_id = r.id
                and d.status = 'deferred'
                and d.fire_at <= p_now
        )),
        bool_or(r.is_fresh and exists (
            select
            from dispatch.run as s
            where s.workspace_id = p_workspace_id
                and s.runtime_id = r.id
                and s.status = 'dispatched'
                and s.dispatched_at < p_now - dispatch.claim_recovery_window()
        ))
    into daemons, fresh, has_due, has_stale
    from (select distinct u.id from unnest(p_runtime_ids) as u (id)) as i
    cross join lateral (
        select
            t.id, t.daemon_id,
            t.status = 'online'
            and coalesce(t.last_seen_at, t.updated_at)
            >= p_now - dispatch.runtime_freshness() as is_fresh
        from dispatch.runtime as t
        where t.workspace_id = p_workspace_id and t.id = i.id
        limit 1
    ) as r;
    fresh := coalesce(fresh, '{}'::uuid[]);
end;
$fn$;

comment on function dispatch._look_at_runtimes(uuid, uuid[], timestamptz) is
$doc$Tell of the runtimes that the workspace has how many daemons they belong to, which are
fresh at p_now, and whether deferred runs of theirs may be due or claims of theirs may be stale.

Errors: none.$doc$;

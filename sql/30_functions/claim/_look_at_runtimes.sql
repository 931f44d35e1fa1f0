-- All that a claim has to know before it takes a lock, since every idle daemon asks it all the
-- time: one look-up by key a runtime.
create or replace function dispatch._look_at_runtimes(
    p_workspace_id uuid,
    p_runtime_ids uuid[],
    p_now timestamptz,
    out fresh uuid[],
    out has_due boolean,
    out has_stale boolean
)
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_id uuid;
    v_daemon text;
    v_first text;
    v_is_fresh boolean;
    v_is_due boolean;
    v_is_stale boolean;
begin
    fresh := '{}'::uuid[];
    has_due := false;
    has_stale := false;
    foreach v_id in array p_runtime_ids loop
        select
            t.daemon_id,
            t.status = 'online'
            and coalesce(t.last_seen_at, t.updated_at)
            >= p_now - dispatch.runtime_freshness(),
            exists (
                select
                from dispatch.run as d
                where d.workspace_id = p_workspace_id
                    and d.runtime_id = v_id
                    and d.status = 'deferred'
                    and d.fire_at <= p_now
            ),
            exists (
                select
                from dispatch.run as s
                where s.workspace_id = p_workspace_id
                    and s.runtime_id = v_id
                    and s.status = 'dispatched'
                    and s.dispatched_at < p_now - dispatch.claim_recovery_window()
            )
        into v_daemon, v_is_fresh, v_is_due, v_is_stale
        from dispatch.runtime as t
        where t.workspace_id = p_workspace_id and t.id = v_id;
        continue when not found;
        v_first := coalesce(v_first, v_daemon);
        if v_daemon <> v_first then
            perform dispatch._raise(
                'PD400', 'runtimes of two daemons', 'p_runtime_ids',
                'name the runtimes of one daemon in one call.'
            );
        end if;
        if v_is_fresh and not v_id = any(fresh) then
            fresh := fresh || v_id;
            has_due := has_due or v_is_due;
            has_stale := has_stale or v_is_stale;
        end if;
    end loop;
end;
$fn$;

comment on function dispatch._look_at_runtimes(uuid, uuid[], timestamptz) is
$doc$Tell which of these runtimes are fresh at p_now, and whether deferred runs of those may be
due or claims of those may be stale.

Ids that the workspace does not know are left out.
Errors: PD400 the runtimes belong to more than one daemon.$doc$;

-- Every sweep's condition stands here once. What a sweep may not touch is left out before the
-- limit, so it never stops the sweep from reaching what it must; an active run is found by the
-- index of active lanes, of which there are never more than the agents' capacities allow.
create or replace function dispatch._sweep_candidates(
    p_workspace_id uuid,
    p_sweep text,
    p_max integer,
    p_now timestamptz
)
returns setof dispatch._report
language plpgsql
stable
parallel safe
rows 10
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_stale constant uuid[] := array(
        select r.id
        from dispatch.runtime as r
        where r.workspace_id = p_workspace_id
            and (
                r.status <> 'online'
                or coalesce(r.last_seen_at, r.updated_at)
                < p_now - dispatch.runtime_freshness()
            )
    );
    v_lost constant uuid[] := dispatch._silent_runtimes(
        p_workspace_id, p_now - dispatch.reconnect_grace()
    );
    v_offline constant uuid[] := dispatch._silent_runtimes(
        p_workspace_id, p_now - dispatch.reconnect_grace(), 'offline'
    );
begin
    if p_sweep = 'queued' then
        return query
        select
            row_number() over ()::integer, q.id, q.claim_no, null::jsonb,
            'queued_expired'::text, 'nobody claimed the run in time'::text, null::text,
            null::text, false, null::interval
        from (
            select r.id, r.claim_no
            from dispatch.run as r
            where r.workspace_id = p_workspace_id
                and r.status = 'queued'
                and greatest(r.requested_at, r.fire_at) < p_now - dispatch.queued_ttl()
                and not dispatch._is_child_of(p_workspace_id, r.id, 'runtime_offline')
            order by greatest(r.requested_at, r.fire_at), r.id
            limit p_max
        ) as q;
        return;
    elsif p_sweep = 'reconnect' then
        return query
        select
            row_number() over ()::integer, q.id, q.claim_no, null::jsonb,
            'runtime_reconnect_timeout'::text, 'the runtime did not come back in time'::text,
            null::text, null::text, false, null::interval
        from (
            select r.id, r.claim_no
            from unnest(v_stale) as rt (id)
            cross join lateral (
                select d.id, d.claim_no, d.fire_at
                from dispatch.run as d
                where d.workspace_id = p_workspace_id
                    and d.runtime_id = rt.id
                    and d.status = 'deferred'
                    and d.fire_at < p_now - dispatch.reconnect_grace()
                    and d.attempt > 1
                    and d.claim_no = 0
                    and dispatch._is_child_of(p_workspace_id, d.id, 'runtime_offline')
                order by d.fire_at
                limit p_max
            ) as r
            order by r.fire_at, r.id
            limit p_max
        ) as q;
        return;
    end if;
    return query
    select
        row_number() over ()::integer, q.id, q.claim_no, null::jsonb,
        case p_sweep when 'offline' then 'runtime_offline' else 'timeout' end,
        case p_sweep when 'offline' then 'the runtime is offline' else 'task timed out' end,
        null::text, null::text, false, null::interval
    from (
        select r.id, r.claim_no
        from dispatch.run as r
        where r.workspace_id = p_workspace_id
            and r.status in ('dispatched', 'waiting_local_directory', 'running')
            and case p_sweep
                when 'dispatched' then
                    r.status = 'waiting_local_directory' and r.lease_expires_at < p_now
                    or r.status = 'dispatched'
                    and r.dispatched_at < p_now - dispatch.dispatch_timeout()
                    and (r.lease_expires_at is null or r.lease_expires_at < p_now)
                    and (not r.runtime_id = any(v_stale) or r.runtime_id = any(v_lost))
                when 'running' then
                    r.status = 'running'
                    and (
                        r.lease_expires_at < p_now
                        or r.started_at < p_now - dispatch.running_timeout()
                        and r.runtime_id = any(v_lost)
                    )
                when 'offline' then r.runtime_id = any(v_offline)
            end
        order by r.dispatched_at, r.id
        limit p_max
    ) as q;
end;
$fn$;

comment on function dispatch._sweep_candidates(uuid, text, integer, timestamptz) is
$doc$Give up to p_max runs that a sweep would end at p_now, as the reports that end them.

dispatched: claimed longer ago than dispatch_timeout() without a live lease, on a runtime that
is alive or lost for longer than reconnect_grace(), and waiting runs whose lease has run out.
running: a run whose own lease has run out, or older than running_timeout() on a runtime lost
for longer than the grace. offline: any active run of a runtime that is offline and lost for
longer than the grace. queued: older than queued_ttl() since the request, or since it was due;
never the retry of a lost runtime. reconnect: such a retry, due for longer than the grace and
never claimed, whose runtime is not fresh; what a daemon has put off waits on. Rule:
issue-to-run 4.
Errors: none.$doc$;

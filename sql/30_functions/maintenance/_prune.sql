-- Locks: the rows that it deletes, skip locked. What is deleted is added to gate_total in the
-- same transaction, so the counters never go back.
create or replace function dispatch._prune(
    p_workspace_id uuid,
    p_max integer,
    p_now timestamptz
)
returns integer
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_material = off
set jit = off
as $fn$
declare
    v_runs uuid[];
    v_events uuid[];
begin
    v_runs := array(
        select r.id
        from dispatch.run as r
        where r.workspace_id = p_workspace_id
            and r.status in ('completed', 'failed', 'cancelled')
            and r.finished_at < p_now - dispatch.run_retention()
        order by r.finished_at
        limit p_max
        for update skip locked
    );
    perform dispatch._add_totals(p_workspace_id, array(
        select row(
            dispatch._gate_metric(c.reason), c.reason, sum(c.count)
        )::dispatch._total
        from (
            select
                case t.outcome when 'coalesced' then 'coalesced' else 'already_active' end
                as reason,
                t.count
            from unnest(v_runs) as i (id)
            cross join lateral (
                select g.outcome, g.count
                from dispatch.run_trigger as g
                where g.workspace_id = p_workspace_id
                    and g.run_id = i.id
                    and g.outcome in ('coalesced', 'absorbed')
                    and not g.inherited
                offset 0
            ) as t
        ) as c
        group by c.reason
    ));
    delete from dispatch.run as r
    where r.workspace_id = p_workspace_id and r.id = any(v_runs);
    v_events := array(
        select e.id
        from dispatch.gate_event as e
        where e.workspace_id = p_workspace_id
            and e.at < p_now - dispatch.gate_event_retention()
        order by e.at
        limit p_max
        for update skip locked
    );
    perform dispatch._add_totals(p_workspace_id, array(
        select row(e.metric, e.reason, count(*))::dispatch._total
        from dispatch.gate_event as e
        where e.workspace_id = p_workspace_id and e.id = any(v_events)
        group by e.metric, e.reason
    ));
    delete from dispatch.gate_event as e
    where e.workspace_id = p_workspace_id and e.id = any(v_events);
    return cardinality(v_runs) + cardinality(v_events);
end;
$fn$;

comment on function dispatch._prune(uuid, integer, timestamptz) is
$doc$Delete up to p_max runs and p_max gate events that are older than their retention; returns
how many.

A run goes with its details and wakes; links to it from later runs stay as they are.
Errors: none.$doc$;

-- Locks: run rows FOR NO KEY UPDATE by id, and none when no slot is taken. The lock comes first
-- and the status is rechecked under it, so that a claim either sees the recorded wake or makes
-- it owed; without it a wake is lost.
create or replace function dispatch._absorb_wakes(
    p_workspace_id uuid,
    p_round dispatch._candidate[],
    p_now timestamptz
)
returns dispatch._ruling[]
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_pending constant dispatch.run_status[] := array[
        'queued', 'dispatched'
    ]::dispatch.run_status[];
    v_holders uuid[];
    v_held record;
    v_outcome dispatch.outcome;
    v_rulings dispatch._ruling[] := '{}'::dispatch._ruling[];
begin
    v_holders := array(
        select h.id
        from unnest(p_round) as c
        cross join lateral (
            select r.id
            from dispatch.run as r
            where r.workspace_id = p_workspace_id
                and r.agent_id = (c.wake).agent_id
                and r.issue_id = (c.wake).issue_id
                and r.status in ('queued', 'dispatched')
            limit 1
        ) as h
        where (c.wake).fire_at is null
    );
    if cardinality(v_holders) = 0 then
        return v_rulings;
    end if;
    for v_held in
        select c.ord, c.wake, r.id as run_id
        from (select distinct i.id from unnest(v_holders) as i (id) order by i.id) as h
        cross join lateral (
            select o.id, o.agent_id, o.issue_id
            from dispatch.run as o
            where o.workspace_id = p_workspace_id
                and o.id = h.id
                and o.status = any(v_pending)
            limit 1
            for no key update
        ) as r
        inner join unnest(p_round) as c
            on (c.wake).agent_id = r.agent_id
            and (c.wake).issue_id = r.issue_id
            and (c.wake).fire_at is null
    loop
        v_outcome := 'absorbed';
        if dispatch._may_coalesce(p_workspace_id, v_held.run_id, v_held.wake, p_now) then
            v_outcome := 'coalesced';
            perform dispatch._merge_wake(p_workspace_id, v_held.run_id, v_held.wake, p_now);
        -- A retry or a follow-up that finds the slot taken hands its wakes over by itself.
        elsif not coalesce('record' = any((v_held.wake).skip), false) then
            perform dispatch._record_wake(
                p_workspace_id, v_held.run_id, v_held.wake, 'absorbed', p_now
            );
        end if;
        v_rulings := v_rulings || row(
            v_held.ord,
            row(
                v_outcome,
                case v_outcome when 'coalesced' then 'coalesced' else 'already_active' end,
                v_held.run_id, (v_held.wake).agent_id, (v_held.wake).source, null
            )::dispatch.decision
        )::dispatch._ruling;
    end loop;
    return v_rulings;
end;
$fn$;

comment on function dispatch._absorb_wakes(uuid, dispatch._candidate[], timestamptz) is
$doc$Gates 5 and 6: merge each wake whose issue and agent have a queued or dispatched run into
that run, or record it there.

Returns the decisions of the wakes that it settled, none for the others.
Errors: none.$doc$;

-- Locks: run rows FOR NO KEY UPDATE by id. The lock comes first and the status is rechecked
-- under it, so that a claim either sees the recorded wake or makes it owed; without it a wake
-- is lost.
create or replace function dispatch._absorb_wakes(
    p_workspace_id uuid,
    p_round dispatch._candidate[],
    p_now timestamptz
)
returns setof dispatch._ruling
language plpgsql
volatile
parallel unsafe
rows 10
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_held record;
    v_ruling dispatch._ruling;
begin
    for v_held in
        select c.ord, c.wake, r.id as run_id
        from unnest(p_round) as c
        inner join dispatch.run as r
            on r.workspace_id = p_workspace_id
            and r.agent_id = (c.wake).agent_id
            and r.issue_id = (c.wake).issue_id
            and r.status in ('queued', 'dispatched')
        where (c.wake).fire_at is null
        order by r.id
        for no key update of r
    loop
        -- A retry or a follow-up that finds the slot taken hands over what it carries by itself.
        if (v_held.wake).parent_run_id is null
            and not coalesce('record' = any((v_held.wake).skip), false)
        then
            perform dispatch._record_wake(
                p_workspace_id, v_held.run_id, v_held.wake, 'absorbed', p_now
            );
        end if;
        v_ruling.ord := v_held.ord;
        v_ruling.decision := row(
            'absorbed', 'already_active', v_held.run_id, (v_held.wake).agent_id,
            (v_held.wake).source, null
        )::dispatch.decision;
        return next v_ruling;
    end loop;
end;
$fn$;

comment on function dispatch._absorb_wakes(uuid, dispatch._candidate[], timestamptz) is
$doc$Gate 6: record each wake whose issue and agent have a queued or dispatched run on that run.

Returns the decisions of the wakes that it settled, none for the others.
Errors: none.$doc$;

-- Locks: the run row that holds the wake's pending slot FOR NO KEY UPDATE, and none when the
-- slot is free. The lock comes first and the status is rechecked under it, so that a claim
-- either sees the recorded wake or makes it owed; without it a wake is lost. A batch locks
-- nothing here: a run that came into a slot after the batch's holders were locked in their
-- order is met by the insert, and locked in order by the next round.
create or replace function dispatch._settle_wake(
    p_workspace_id uuid,
    p_wake dispatch.wake,
    p_held uuid[],
    p_now timestamptz
)
returns dispatch.decision
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_pending constant dispatch.run_status[] := array[
        'queued', 'dispatched'
    ]::dispatch.run_status[];
    v_run uuid;
    v_verdict record;
begin
    if p_wake.idempotency_key is not null
        and (p_wake.skip is null or not 'duplicate' = any(p_wake.skip))
    then
        v_run := dispatch._find_duplicate(p_workspace_id, p_wake.idempotency_key, p_now);
        if v_run is not null then
            return dispatch._duplicate_decision(
                p_workspace_id, p_wake, v_run, 'duplicate_recent'
            );
        end if;
    end if;
    if p_wake.fire_at is not null then
        return null;
    end if;

    if p_wake.issue_id is not null then
        select r.id
        into v_run
        from dispatch.run as r
        where r.workspace_id = p_workspace_id
            and r.agent_id = p_wake.agent_id
            and r.issue_id = p_wake.issue_id
            and r.status in ('queued', 'dispatched');
        if found and (p_held is null or v_run = any(p_held)) then
            perform
            from dispatch.run as r
            where r.workspace_id = p_workspace_id and r.id = v_run and r.status = any(v_pending)
            for no key update;
            if found then
                return dispatch._absorb_wake(p_workspace_id, v_run, p_wake, p_now);
            end if;
        end if;
    end if;

    if p_wake.reason = 'task_assigned'
        and (p_wake.skip is null or not 'allowance' = any(p_wake.skip))
    then
        v_verdict := dispatch._allowance_verdict(p_workspace_id, p_wake, p_now);
        if v_verdict.reason = 'allowance_exhausted' then
            return row(
                'rate_limited', 'allowance_exhausted', null, p_wake.agent_id, p_wake.source,
                v_verdict.detail
            )::dispatch.decision;
        elsif v_verdict.reason is not null then
            perform dispatch._record_gate_event(
                p_workspace_id, p_now, v_verdict.reason, p_wake, null, v_verdict.detail
            );
        end if;
    end if;
    return null;
end;
$fn$;

comment on function dispatch._settle_wake(uuid, dispatch.wake, uuid[], timestamptz) is
$doc$Take a wake through gates 4 to 7: duplicate, coalesce, pending slot, allowance.

p_held are the runs that its batch holds, NULL for a wake alone. Returns the decision of the
gate that settled it, NULL for a wake that is to be inserted.
Errors: none.$doc$;

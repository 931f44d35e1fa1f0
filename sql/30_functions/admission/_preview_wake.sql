-- Asks what _settle_wakes and the insert ask, in their order and by the same functions, and
-- leaves out what they do: nothing is locked, merged, recorded, counted or warned of. The wakes
-- of different issues share no key, slot or allowance, so each is judged by itself.
create or replace function dispatch._preview_wake(
    p_workspace_id uuid,
    p_wake dispatch.wake,
    p_now timestamptz
)
returns dispatch.decision
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_run uuid;
    v_verdict record;
begin
    if p_wake.idempotency_key is not null then
        v_run := dispatch._find_duplicate(p_workspace_id, p_wake.idempotency_key, p_now);
        if v_run is not null then
            return dispatch._duplicate_decision(
                p_workspace_id, p_wake, v_run, 'duplicate_recent'
            );
        end if;
    end if;

    select r.id
    into v_run
    from dispatch.run as r
    where r.workspace_id = p_workspace_id
        and r.agent_id = p_wake.agent_id
        and r.issue_id = p_wake.issue_id
        and r.status in ('queued', 'dispatched');
    if found then
        if dispatch._may_coalesce(p_workspace_id, v_run, p_wake, p_now) then
            return row(
                'coalesced', 'coalesced', v_run, p_wake.agent_id, p_wake.source, null
            )::dispatch.decision;
        end if;
        return row(
            'absorbed', 'already_active', v_run, p_wake.agent_id, p_wake.source, null
        )::dispatch.decision;
    end if;

    if p_wake.reason = 'task_assigned' then
        v_verdict := dispatch._allowance_verdict(p_workspace_id, p_wake, p_now);
        if v_verdict.reason = 'allowance_exhausted' then
            return row(
                'rate_limited', 'allowance_exhausted', null, p_wake.agent_id, p_wake.source,
                v_verdict.detail
            )::dispatch.decision;
        end if;
    end if;

    if p_wake.idempotency_key is not null then
        select d.run_id
        into v_run
        from dispatch.run_detail as d
        where d.workspace_id = p_workspace_id
            and d.idempotency_key = p_wake.idempotency_key;
        if found then
            return dispatch._duplicate_decision(
                p_workspace_id, p_wake, v_run, 'duplicate_key'
            );
        end if;
    end if;
    return row(
        'queued', 'queued', null, p_wake.agent_id, p_wake.source, null
    )::dispatch.decision;
end;
$fn$;

comment on function dispatch._preview_wake(uuid, dispatch.wake, timestamptz) is
$doc$Give the decision that gates 4 to 8 would make about a wake of an issue at p_now, which
gates 1 to 3 let pass, and write nothing.

Errors: those of the gates' reads.$doc$;

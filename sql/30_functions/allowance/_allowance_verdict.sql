-- The count is the one read that fails open: a broken read must not stop a legitimate wake. The
-- exception block writes nothing inside, so it uses up no transaction id.
create or replace function dispatch._allowance_verdict(
    p_workspace_id uuid,
    p_wake dispatch.wake,
    p_at timestamptz,
    out reason text,
    out detail jsonb
)
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_task_id constant text := p_wake.payload ->> 'task_id';
    v_observed bigint;
begin
    if p_wake.reason <> 'task_assigned'
        or p_wake.payload -> 'actor_type' is distinct from '"agent"'
    then
        return;
    elsif jsonb_typeof(p_wake.payload -> 'task_id') is distinct from 'string'
        or v_task_id = ''
    then
        reason := 'task_unattributed';
        detail := jsonb_build_object('allowance', dispatch.allowance_limit());
        return;
    end if;
    begin
        v_observed := dispatch._allowance_count(p_workspace_id, v_task_id, p_at);
    exception
        when others then
            if sqlstate like '40%' or sqlstate in ('57014', '0A000') then
                raise;
            end if;
            reason := 'count_read_failed';
            detail := jsonb_build_object(
                'task_id', v_task_id, 'allowance', dispatch.allowance_limit(), 'error', sqlerrm
            );
            return;
    end;
    if v_observed >= dispatch.allowance_limit() then
        reason := 'allowance_exhausted';
        detail := jsonb_build_object(
            'task_id', v_task_id, 'observed', v_observed,
            'allowance', dispatch.allowance_limit()
        );
    end if;
end;
$fn$;

comment on function dispatch._allowance_verdict(uuid, dispatch.wake, timestamptz) is
$doc$Gate 7: judge a wake by the assignment allowance of its issue at p_at.

reason is NULL when the wake passes unnoticed: not an assignment, not by an agent, or within the
allowance. task_unattributed and count_read_failed pass as well and are counted;
allowance_exhausted refuses. The order of the tests is part of the contract. Rule:
assignment-wake-rate-limit, The predicate and Failure direction.
Errors: those of class 40, 57014 and 0A000 only.$doc$;

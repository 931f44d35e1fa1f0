create or replace function dispatch._allowance_admits(
    p_workspace_id uuid,
    p_wake dispatch.wake,
    p_at timestamptz
)
returns boolean
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    if p_wake.reason <> 'task_assigned'
        or p_wake.payload -> 'actor_type' is distinct from '"agent"'
        or jsonb_typeof(p_wake.payload -> 'task_id') is distinct from 'string'
    then
        return true;
    end if;
    return dispatch._allowance_count(p_workspace_id, p_wake.payload ->> 'task_id', p_at)
        < dispatch.allowance_limit();
end;
$fn$;

comment on function dispatch._allowance_admits(uuid, dispatch.wake, timestamptz) is
$doc$Tell whether gate 7 lets a wake pass: out of scope, or the allowance is not used up at
p_at.

In scope is an assignment by an agent that names its issue. Rule: assignment-wake-rate-limit,
The predicate.
Errors: none.$doc$;

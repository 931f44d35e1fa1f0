create or replace function dispatch._agent_verdict(
    p_is_found boolean,
    p_is_archived boolean,
    p_is_bound boolean,
    p_is_executable boolean,
    p_status text
)
returns dispatch.reason_code
language sql
stable
parallel safe
as $fn$
select case
    when not coalesce(p_is_found, false) then 'invocation_not_allowed'::dispatch.reason_code
    when p_is_archived then 'target_unavailable'
    when not p_is_bound then 'agent_runtime_required'
    when not p_is_executable then 'runtime_unusable'
    when p_status is distinct from 'active' then 'agent_not_runnable'
end;
$fn$;

comment on function dispatch._agent_verdict(boolean, boolean, boolean, boolean, text) is
$doc$Give the code with which gate 1 blocks an agent; NULL when it may be woken.

The first that fits: not in the workspace, archived, bound to no runtime, its runtime not
executable, not active. An offline runtime does not block: the run waits.
Errors: none.$doc$;

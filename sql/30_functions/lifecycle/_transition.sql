create or replace function dispatch._transition(
    p_workspace_id uuid,
    p_run_id uuid,
    p_claim_no integer,
    p_is_applied boolean
)
returns dispatch.transition
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_transition dispatch.transition;
begin
    select
        t.applied, t.run_id, t.status, t.claim_no, t.retry_run_id, t.reason, t.follow_up_run_id
    into v_transition
    from dispatch._transitions(
        p_workspace_id,
        array[row(
            1, p_run_id, p_claim_no, null, null, null, null, null, null, null
        )::dispatch._report],
        case when p_is_applied then array[p_run_id] else '{}' end,
        null
    ) as t;
    return v_transition;
end;
$fn$;

comment on function dispatch._transition(uuid, uuid, integer, boolean) is
$doc$Answer one report after the write; p_is_applied says whether this call moved the run.

Errors: none.$doc$;

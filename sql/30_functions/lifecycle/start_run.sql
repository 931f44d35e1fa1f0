create or replace function dispatch.start_run(
    p_workspace_id uuid,
    p_run_id uuid,
    p_claim_no integer,
    p_lease interval default null
)
returns dispatch.transition
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_answers dispatch.transition[];
begin
    perform dispatch._check_report(p_workspace_id, p_run_id, p_claim_no);
    if p_lease is not null then
        perform dispatch._check_lease('p_lease', p_lease);
    end if;
    v_answers := dispatch._start_runs(
        p_workspace_id,
        array[row(
            1, p_run_id, p_claim_no, null, null, null, null, null, null, p_lease
        )::dispatch._report]
    );
    return v_answers[1];
end;
$fn$;

comment on function dispatch.start_run(uuid, uuid, integer, interval) is
$doc$Report that a claimed run has begun: dispatched or waiting becomes running.

p_claim_no is the number that the claim returned. With p_lease the run itself counts as lost
once the lease has run out without extend_lease; without one only its runtime's heartbeat keeps
it. Wakes that came too late for the claim get one follow_up_run_id. A lease that has run out
does not refuse the start while the claim number is the run's. Rule: issue-to-run 4.
Errors: PD400 missing argument, all-zero id or lease out of range.$doc$;

create or replace function dispatch.fail_run(
    p_workspace_id uuid,
    p_run_id uuid,
    p_claim_no integer,
    p_failure_reason text default null,
    p_error text default null,
    p_session_id text default null,
    p_work_dir text default null,
    p_session_lost boolean default false
)
returns dispatch.transition
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_transition dispatch.transition;
begin
    perform dispatch._check_report(p_workspace_id, p_run_id, p_claim_no);
    perform dispatch._check_outcome(null, p_failure_reason, p_session_lost);
    select
        t.applied, t.run_id, t.status, t.claim_no, t.retry_run_id, t.reason, t.follow_up_run_id
    into v_transition
    from dispatch._fail_runs(
        p_workspace_id,
        array[row(
            1, p_run_id, p_claim_no, null, p_failure_reason, p_error, p_session_id,
            p_work_dir, p_session_lost, null
        )::dispatch._report]
    ) as t;
    return v_transition;
end;
$fn$;

comment on function dispatch.fail_run(uuid, uuid, integer, text, text, text, text, boolean) is
$doc$Report that a claimed, waiting or running run has failed.

p_failure_reason is a word of at most 100 bytes, agent_error when none is given; for a retryable
one with attempts left retry_run_id is the queued retry, unless another run holds the pending
slot and took over. p_error beyond 64 KiB is cut and marked. A session or work directory not
given stays as stored; p_session_lost forgets the session. Repeating the report with the same
arguments is applied and changes nothing; with other arguments it is already_terminal. Rule:
issue-to-run 4.
Errors: PD400 missing argument, all-zero id or text too long.$doc$;

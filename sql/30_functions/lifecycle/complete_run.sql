create or replace function dispatch.complete_run(
    p_workspace_id uuid,
    p_run_id uuid,
    p_claim_no integer,
    p_result jsonb default null,
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
    v_answers dispatch.transition[];
begin
    perform dispatch._check_report(p_workspace_id, p_run_id, p_claim_no);
    perform dispatch._check_outcome(p_result, null, p_session_lost);
    v_answers := dispatch._complete_runs(
        p_workspace_id,
        array[row(
            1, p_run_id, p_claim_no, p_result, null, null, p_session_id, p_work_dir,
            p_session_lost, null
        )::dispatch._report]
    );
    return v_answers[1];
end;
$fn$;

comment on function dispatch.complete_run(uuid, uuid, integer, jsonb, text, text, boolean) is
$doc$Report that a running run has done its work.

p_result is any JSON, at most 1 MiB. p_session_id and p_work_dir are what a later run may
resume; given or not they replace what was stored, and p_session_lost says that the session
cannot be resumed whatever its id. Repeating the report with the same arguments is applied and
changes nothing; with other arguments it is already_terminal. Rule: issue-to-run 4.
Errors: PD400 missing argument, all-zero id or document too long.$doc$;

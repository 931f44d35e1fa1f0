create or replace function dispatch.complete_runs(p_workspace_id uuid, p_reports jsonb)
returns setof dispatch.transition
language plpgsql
volatile
parallel unsafe
rows 10
security definer
set search_path = pg_catalog, pg_temp
as $fn$
begin
    perform dispatch._check_ids(array['p_workspace_id'], array[p_workspace_id]);
    return query
    select
        t.applied, t.run_id, t.status, t.claim_no, t.retry_run_id, t.reason, t.follow_up_run_id
    from unnest(dispatch._complete_runs(
        p_workspace_id,
        dispatch._read_reports(
            p_reports,
            '{"result": "any", "session_id": "string", "work_dir": "string",
            "session_lost": "boolean"}'
        )
    )) as t;
end;
$fn$;

comment on function dispatch.complete_runs(uuid, jsonb) is
$doc$Report the completion of many runs in one call: one transition an element, in the
order given.

p_reports is an array of at most 1000 objects whose keys are the arguments of complete_run
without their p_; run_id and claim_no are required. Each element stands alone: one that
does not apply says why and spoils no other. A second element about one run counts as a
repeat. Rule: issue-to-run 4.
Errors: PD400 a batch or element of a wrong shape (COLUMN p_reports[N].KEY counted from
0).$doc$;

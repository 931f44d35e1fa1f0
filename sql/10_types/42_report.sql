create type dispatch._report as (
    ord integer,
    run_id uuid,
    claim_no integer,
    result jsonb,
    failure_reason text,
    error text,
    session_id text,
    work_dir text,
    session_lost boolean,
    lease interval
);

comment on type dispatch._report is
$doc$One daemon's report about one run, with its place in the batch.$doc$;

create type dispatch.explanation as (
    step text,
    ok boolean,
    reason_code dispatch.reason_code,
    detail jsonb
);

comment on type dispatch.explanation is
$doc$One step on the way from an issue to its run.

ok is NULL when the step has nothing to look at, since an earlier one is in the way. reason_code
says why it is not ok, NULL where the run only waits for its turn.$doc$;

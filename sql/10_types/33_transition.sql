create type dispatch.transition as (
    applied boolean,
    run_id uuid,
    status dispatch.run_status,
    claim_no integer,
    retry_run_id uuid,
    reason text,
    follow_up_run_id uuid
);

comment on type dispatch.transition is
$doc$The answer to a daemon's report about one run.

applied false means that nothing changed; reason is then the first that fits of not_found,
superseded, already_terminal, wrong_state, lease_expired. status and claim_no are the run's own
after the call. retry_run_id is the child that a failure queued, follow_up_run_id the run queued
for wakes that came too late for this one.$doc$;

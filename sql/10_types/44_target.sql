create type dispatch._target as (
    target_type text,
    target_id uuid,
    source text,
    is_dropped_quietly boolean,
    agent_id uuid,
    code dispatch.reason_code,
    run_id uuid
);

comment on type dispatch._target is
$doc$An agent or a squad that a comment asks for work, on its way to a wake.

source is mention or comment. is_dropped_quietly: nobody named it, so it is left out where it
cannot be woken. agent_id is who would run the work. code settles the target without a wake;
run_id is then the run that stands.$doc$;

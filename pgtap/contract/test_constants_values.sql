begin;
select plan(27);

select is(dispatch.allowance_limit(), 5, 'N');
select is(dispatch.allowance_window(), interval '10 minutes', 'W');
select is(dispatch.coalesce_window(), interval '5 seconds', 'equal wakes merge');
select is(dispatch.duplicate_window(), interval '24 hours', 'a key is a recent duplicate');
select is(dispatch.runtime_freshness(), interval '150 seconds', 'a runtime is fresh');
select is(dispatch.prepare_lease(), interval '45 seconds', 'a claim is leased');
select is(
    dispatch.claim_recovery_window(), interval '90 seconds', 'a claim is handed out again'
);
select is(dispatch.dispatch_timeout(), interval '300 seconds', 'a dispatched run is swept');
select is(dispatch.running_timeout(), interval '9000 seconds', 'a running run is swept');
select is(dispatch.queued_ttl(), interval '7200 seconds', 'a queued run is swept');
select is(dispatch.reconnect_grace(), interval '3 hours', 'a silent runtime is waited for');
select is(dispatch.escalation_delay(), interval '5 minutes', 'an escalation waits');
select is(dispatch.occurrence_lateness(), interval '5 minutes', 'an occurrence may be late');
select is(dispatch.run_retention(), interval '2160 hours', 'an ended run is kept');
select is(dispatch.gate_event_retention(), interval '720 hours', 'a gate event is kept');
select is(dispatch.claim_batch_limit(), 256, 'one claim returns at most');
select is(dispatch.preview_limit(), 500, 'one preview takes at most');
select is(dispatch.wake_channel(), 'dispatch_wake', 'the channel of wakes');
select is(dispatch.key_limit(), 255, 'bytes of a key');
select is(dispatch.reason_limit(), 100, 'bytes of a reason');
select is(dispatch.name_limit(), 200, 'bytes of a name');
select is(dispatch.error_limit(), 65536, 'bytes of a stored error');
select is(dispatch.trigger_budget(), 524288, 'bytes of the wakes that one claim returns');
select is(dispatch.max_lease(), interval '24 hours', 'the longest lease');
select is(dispatch.max_delay(), interval '8784 hours', 'the longest delay');

-- A day is not always 24 hours: a window counted in days would change with the time zone.
select is(
    (
        select string_agg(p.proname, ', ')
        from pg_catalog.pg_proc as p
        where p.pronamespace = 'dispatch'::regnamespace
            and p.prorettype = 'interval'::regtype
            and p.pronargs = 0
            and p.prosrc ~ '\m(days?|weeks?|months?|mons?|years?)\M'
    ),
    null,
    'no window is counted in days'
);
select is(
    (
        select string_agg(p.proname, ', ')
        from pg_catalog.pg_proc as p
        where p.pronamespace = 'dispatch'::regnamespace
            and p.prorettype in ('interval'::regtype, 'integer'::regtype)
            and p.pronargs = 0
            and p.prokind = 'f'
            and p.provolatile <> 'i'
    ),
    null,
    'every constant is immutable'
);

select * from finish();
rollback;

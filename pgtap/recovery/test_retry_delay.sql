begin;
select plan(8);

select dispatch_test.set_clock('2030-01-15 12:00:00+00');
select dispatch.put_workspace(dispatch_test.id(1), 'Works');
select dispatch.put_member(dispatch_test.id(1), dispatch_test.id(2), 'Ana');
select dispatch.put_runtime(dispatch_test.id(1), dispatch_test.id(3), 'daemon-1');
select dispatch.heartbeat(dispatch_test.id(1), array[dispatch_test.id(3)]);
select dispatch.put_agent(
    dispatch_test.id(1), dispatch_test.id(4), 'alpha', dispatch_test.id(2), dispatch_test.id(3),
    p_max_concurrent_runs => 50
);
insert into dispatch.issue (
    workspace_id, id, number, title, status, priority, creator_type, created_at, updated_at
)
select
    dispatch_test.id(1), dispatch_test.id(100 + n), n, 'issue', 'todo', 'none', 'system',
    dispatch.clock(), dispatch.clock()
from generate_series(1, 1) as n;

-- Has the run in hand and fails it, as a daemon would.
create function pg_temp.fail(p_run_id uuid, p_reason text)
returns dispatch.transition
language plpgsql
as $fn$
begin
    update dispatch.run as r
    set status = 'running', claim_no = 1, dispatched_at = dispatch.clock()
    where r.id = p_run_id;
    return dispatch.fail_run(dispatch_test.id(1), p_run_id, 1, p_reason);
end;
$fn$;

-- The retry of attempt p_attempt for that reason, as STATUS DELAY.
create function pg_temp.retry(p_reason text, p_attempt integer)
returns text
language plpgsql
as $fn$
declare
    v_run constant uuid := (dispatch.queue_wake(
        dispatch_test.id(1), dispatch_test.id(4), 'work',
        p_chat_session_id => gen_random_uuid(), p_max_attempts => 9
    )).run_id;
    v_child uuid;
begin
    update dispatch.run as r set attempt = p_attempt where r.id = v_run;
    v_child := (pg_temp.fail(v_run, p_reason)).retry_run_id;
    return (
        select concat_ws(' ', r.status, r.fire_at - dispatch.clock())
        from dispatch.run as r
        where r.id = v_child
    );
end;
$fn$;

select is(
    pg_temp.retry('runtime_offline', 1), 'deferred 00:00:01',
    'R13: after the loss of a runtime the retry waits a second'
);
select is(pg_temp.retry('runtime_offline', 2), 'deferred 00:00:01', 'R13: each time');
select is(
    pg_temp.retry('agent_error.provider_network', 1), 'queued',
    'the first retry of a network fault is queued at once'
);
select is(
    pg_temp.retry('agent_error.provider_network', 2), 'deferred 00:00:05',
    'the second waits five seconds'
);
select is(
    pg_temp.retry('agent_error.provider_network', 3), 'deferred 00:00:05', 'and any later one'
);
select is(
    (
        select string_agg(distinct pg_temp.retry(n.reason, 2), ', ')
        from unnest(array[
            'timeout', 'runtime_recovery', 'codex_semantic_inactivity',
            'skill_bundle_unavailable'
        ]) as n (reason)
    ),
    'queued', 'every other retry is queued at once'
);
select dispatch_test.advance_clock(interval '999999 microseconds');
select is(
    dispatch.promote_deferred(dispatch_test.id(1)), 0, 'R13: not a microsecond too early'
);
select dispatch_test.advance_clock(interval '1 microsecond');
select is(dispatch.promote_deferred(dispatch_test.id(1)), 2, 'R13: the two are due in time');

select * from finish();
rollback;

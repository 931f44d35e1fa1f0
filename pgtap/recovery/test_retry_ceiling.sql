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

-- Fails again and again for one reason; answers how many attempts were made.
create function pg_temp.attempts(p_reason text, p_max_attempts integer)
returns text
language plpgsql
as $fn$
declare
    v_run uuid := (dispatch.queue_wake(
        dispatch_test.id(1), dispatch_test.id(4), 'work',
        p_chat_session_id => gen_random_uuid(), p_max_attempts => p_max_attempts
    )).run_id;
    v_tried text := '';
begin
    loop
        select v_tried || format(' %s/%s', r.attempt, r.max_attempts)
        into v_tried
        from dispatch.run as r
        where r.id = v_run;
        v_run := (pg_temp.fail(v_run, p_reason)).retry_run_id;
        exit when v_run is null;
    end loop;
    return btrim(v_tried);
end;
$fn$;

select is(pg_temp.attempts('timeout', 1), '1/1', 'R11: one attempt allowed is one attempt');
select is(pg_temp.attempts('timeout', 2), '1/2 2/2', 'R15: attempts rise by one and stop');
select is(pg_temp.attempts('timeout', 4), '1/4 2/4 3/4 4/4', 'R15: at whatever was asked for');
select is(
    pg_temp.attempts('agent_error.provider_network', 2), '1/2 2/3 3/3',
    'a fault of the network raises the ceiling to three, and the child keeps it'
);
select is(
    pg_temp.attempts('agent_error.provider_network', 1), '1/1',
    'but not where retries are switched off'
);
select is(
    pg_temp.attempts('agent_error.provider_network', 5), '1/5 2/5 3/5 4/5 5/5',
    'nor does it lower a higher one'
);
select is(
    pg_temp.attempts('runtime_offline', 3), '1/3 2/3 3/3', 'no other reason changes the ceiling'
);
select is(
    pg_temp.attempts('agent_error.unknown', 5), '1/5', 'R11: nor makes a final failure one less'
);

select * from finish();
rollback;

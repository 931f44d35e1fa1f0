begin;
select plan(9);

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

-- A runtime that was last seen so long ago; a sweep has not noticed unless p_status says so.
create function pg_temp.runtime(p_number integer, p_seen interval, p_status text)
returns void
language sql
as $fn$
    select dispatch.put_runtime(
        dispatch_test.id(1), dispatch_test.id(p_number), 'daemon-' || p_number
    );
    update dispatch.runtime as r
    set
        status = p_status,
        last_seen_at = dispatch.clock() - p_seen,
        updated_at = dispatch.clock() - p_seen
    where r.id = dispatch_test.id(p_number);
$fn$;

-- Puts a run with the given name as its reason straight into a state; ages count back from now.
create function pg_temp.stand(
    p_name text,
    p_status dispatch.run_status,
    p_claimed interval,
    p_lease interval default null,
    p_started interval default null,
    p_runtime integer default 3
)
returns uuid
language plpgsql
as $fn$
declare
    v_run constant uuid := (dispatch.queue_wake(
        dispatch_test.id(1), dispatch_test.id(4), p_name,
        p_chat_session_id => gen_random_uuid(), p_max_attempts => 1
    )).run_id;
begin
    update dispatch.run as r
    set
        status = p_status,
        claim_no = 1,
        runtime_id = dispatch_test.id(p_runtime),
        dispatched_at = dispatch.clock() - p_claimed,
        lease_expires_at = dispatch.clock() + p_lease,
        started_at = dispatch.clock() - p_started
    where r.id = v_run;
    return v_run;
end;
$fn$;

select pg_temp.runtime(11, interval '4 hours', 'online');
select pg_temp.stand('a-claimed', 'dispatched', interval '1 hour', null, null, 11);
select pg_temp.stand('b-running', 'running', interval '3 h', null, interval '3 h', 11);
select pg_temp.stand('c-younger', 'running', interval '1 h', null, interval '1 h', 11);
select pg_temp.stand('d-leased', 'dispatched', interval '1 h', interval '1 h', null, 11);
select pg_temp.stand('e-waiting', 'waiting_local_directory', '1 h', '-1 s', null, 11);

select results_eq(
    'select s.sweep, s.runs from dispatch.sweep() as s',
    $$values
        ('runtimes', 1), ('dispatched', 2), ('running', 1), ('offline', 2), ('queued', 0),
        ('reconnect', 0)$$,
    'the sweeps run in their order, one row each'
);
select results_eq(
    $$select v.reason, v.failure_reason from dispatch.runs as v order by v.reason$$,
    $$values
        ('a-claimed', 'timeout'), ('b-running', 'timeout'), ('c-younger', 'runtime_offline'),
        ('d-leased', 'runtime_offline'), ('e-waiting', 'timeout')$$,
    'the first that fits names the failure'
);
select results_eq(
    $$select s.sweep, s.runs from dispatch.sweep(p_only => 'offline') as s$$,
    $$values ('offline', 0)$$, 'p_only names the one to run'
);
select is(dispatch_test.error_of('select dispatch.sweep(0)'), 'PD400 p_max', 'p_max 0');
select is(dispatch_test.error_of('select dispatch.sweep(null)'), 'PD400 p_max', 'p_max NULL');
select is(
    dispatch_test.error_of($$select dispatch.sweep(1, 'everything')$$), 'PD400 p_only',
    'an unknown sweep'
);
select is(
    dispatch_test.error_of($$select dispatch.sweep(1, '')$$), 'PD400 p_only', 'a blank one'
);
select is(
    dispatch_test.error_of('select dispatch.sweep()', 'dispatch_worker'), '42501',
    'a daemon does not sweep'
);
select is(
    dispatch_test.error_of('select dispatch.sweep()', 'dispatch_operator'), '00000',
    'an operator does'
);

select * from finish();
rollback;

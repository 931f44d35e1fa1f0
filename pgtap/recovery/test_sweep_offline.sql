begin;
select plan(7);

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

create function pg_temp.ended(p_status dispatch.run_status default 'failed')
returns text
language sql
as $fn$
    select string_agg(v.reason, ' ' order by v.reason)
    from dispatch.runs as v
    where v.status = p_status;
$fn$;

select pg_temp.runtime(11, interval '3 hours', 'offline');
select pg_temp.runtime(12, interval '3 hours 1 microsecond', 'offline');
select pg_temp.runtime(13, interval '1 day', 'online');

select pg_temp.stand('a-grace', 'running', interval '1 m', null, interval '1 m', 11);
select pg_temp.stand('b-dispatched', 'dispatched', interval '1 m', interval '1 h', null, 12);
select pg_temp.stand(
    'c-waiting', 'waiting_local_directory', interval '1 m', interval '1 h', null, 12
);
select pg_temp.stand('d-running', 'running', interval '1 m', null, interval '1 m', 12);
select pg_temp.stand('e-queued', 'queued', null, p_runtime => 12);
select pg_temp.stand('f-online', 'running', interval '1 m', null, interval '1 m', 13);
select pg_temp.stand('g-alive', 'running', interval '1 m', null, interval '1 m');

select is(
    (select s.runs from dispatch.sweep(p_only => 'offline') as s), 3,
    'three runs stand on a runtime that is offline and was last seen more than 3 h ago'
);
select is(
    pg_temp.ended(), 'b-dispatched c-waiting d-running',
    'whatever active status they have, lease or not'
);
select is(
    (
        select string_agg(distinct v.failure_reason || ': ' || v.error, ', ')
        from dispatch.runs as v
        where v.status = 'failed'
    ),
    'runtime_offline: the runtime is offline', 'they fail because of the runtime'
);
select is(pg_temp.ended('queued'), 'e-queued', 'what is queued there is left');
select is(
    pg_temp.ended('running'), 'a-grace f-online g-alive',
    'seen exactly 3 h ago is not too long, and who was not set offline is not offline'
);
select is(
    (
        select string_agg(s.sweep || ' ' || s.runs, ', ')
        from dispatch.sweep() as s
        where s.runs > 0
    ),
    'runtimes 1, offline 1',
    'all sweeps together find a silent runtime and end its runs in one go'
);
select dispatch_test.advance_clock(interval '1 microsecond');
select is(
    (select s.runs from dispatch.sweep(1, 'offline') as s), 1,
    'a microsecond later the boundary is passed'
);

select * from finish();
rollback;

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

select pg_temp.runtime(11, interval '3 hours', 'offline');
select pg_temp.runtime(12, interval '150 seconds 1 microsecond', 'online');
-- A deferred retry of a run that failed for that reason, due so long ago.
create function pg_temp.armed(
    p_name text,
    p_due interval,
    p_reason text default 'runtime_offline',
    p_runtime integer default 11
)
returns uuid
language plpgsql
as $fn$
declare
    v_run uuid;
begin
    select d.run_id
    into v_run
    from dispatch.queue_wake(
        dispatch_test.id(1), dispatch_test.id(4), p_name,
        p_chat_session_id => gen_random_uuid(), p_max_attempts => 9
    ) as d;
    update dispatch.run as r
    set status = 'running', claim_no = 1, dispatched_at = r.requested_at
    where r.id = v_run;
    select t.retry_run_id
    into v_run
    from dispatch.fail_run(dispatch_test.id(1), v_run, 1, p_reason) as t;
    update dispatch.run as r
    set
        status = 'deferred',
        fire_at = dispatch.clock() - p_due,
        runtime_id = dispatch_test.id(p_runtime)
    where r.id = v_run;
    return v_run;
end;
$fn$;
create function pg_temp.ended()
returns text
language sql
as $fn$
    select string_agg(v.reason, ' ' order by v.reason)
    from dispatch.runs as v
    where v.status = 'failed' and v.source = 'retry';
$fn$;

select pg_temp.armed('a-3-h', interval '3 hours');
select pg_temp.armed('b-more', interval '3 hours 1 microsecond');
select pg_temp.armed('c-silent', interval '3 hours 1 microsecond', p_runtime => 12);
select pg_temp.armed('d-alive', interval '1 day', p_runtime => 3);
select pg_temp.armed('e-timeout', interval '1 day', 'timeout');
create temp table put_off on commit drop as
select pg_temp.armed('f-put-off', interval '1 day') as id;
update dispatch.run as r set claim_no = 1 from put_off as p where r.id = p.id;
select dispatch.queue_wake(
    dispatch_test.id(1), dispatch_test.id(4), 'g-later',
    p_fire_at => dispatch.clock() + interval '7 days'
);

select is(
    (select s.runs from dispatch.sweep(p_only => 'reconnect') as s), 2,
    'R13: two retries waited more than 3 h for a runtime that is not back'
);
select is(
    pg_temp.ended(), 'b-more c-silent', 'R13: no runtime that is fresh, no other reason'
);
select is(
    (
        select string_agg(distinct v.failure_reason || ': ' || v.error, ', ')
        from dispatch.runs as v
        where v.status = 'failed' and v.source = 'retry'
    ),
    'runtime_reconnect_timeout: the runtime did not come back in time', 'they say why'
);
select is(
    (select count(*) from dispatch.runs as v where v.attempt > 2 or v.status = 'queued'),
    0::bigint, 'R13: no further child, nor a follow-up'
);
select dispatch_test.advance_clock(interval '1 microsecond');
select is(
    (select s.runs from dispatch.sweep(1, 'reconnect') as s), 1,
    'R13: a microsecond later the boundary is passed'
);
select dispatch_test.advance_clock(interval '6 days 23 hours');
select is(
    (select s.runs from dispatch.sweep(p_only => 'reconnect') as s), 1,
    'days later also that of the runtime that was alive'
);
select is(
    (
        select string_agg(v.reason, ' ' order by v.reason)
        from dispatch.runs as v
        where v.status = 'deferred'
    ),
    'e-timeout f-put-off g-later',
    'R14: what waits for its time is never stale, for whatever time'
);

select * from finish();
rollback;

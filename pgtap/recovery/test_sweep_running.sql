begin;
select plan(5);

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

select pg_temp.runtime(11, interval '10 minutes', 'offline');
select pg_temp.runtime(12, interval '3 hours', 'offline');
select pg_temp.runtime(13, interval '3 hours 1 microsecond', 'offline');
create temp table old (started interval) on commit drop;
insert into old (started) values ('9000 seconds 1 microsecond');

select pg_temp.stand('a-days', 'running', interval '5 days', null, interval '5 days');
select pg_temp.stand('b-silent', 'running', o.started, null, o.started, 11) from old as o;
select pg_temp.stand('c-grace', 'running', o.started, null, o.started, 12) from old as o;
select pg_temp.stand('d-lost', 'running', o.started, null, o.started, 13) from old as o;
select pg_temp.stand(
    'e-2-h-30', 'running', o.started, null, interval '9000 seconds', 13
)
from old as o;
select pg_temp.stand(
    'f-lease-at', 'running', interval '1 minute', interval '0', interval '1 minute'
);
select pg_temp.stand(
    'g-lease-past', 'running', interval '1 minute', interval '-1 microsecond',
    interval '1 minute'
);
select pg_temp.stand('h-leased', 'running', interval '5 days', interval '1 s', interval '5 d');

select is(
    (select s.runs from dispatch.sweep(p_only => 'running') as s), 2,
    'two running runs have nobody any more'
);
select is(
    pg_temp.ended(), 'd-lost g-lease-past',
    'R08: one on a runtime lost beyond 3 h, older than 2 h 30; one whose own lease ran out'
);
select is(
    (
        select string_agg(distinct v.failure_reason || ': ' || v.error, ', ')
        from dispatch.runs as v
        where v.status = 'failed'
    ),
    'timeout: task timed out', 'they fail as timed out'
);
select dispatch_test.advance_clock(interval '1 microsecond');
select is(
    (select s.runs from dispatch.sweep(p_only => 'running') as s), 3,
    'a microsecond later so do those that stood on the boundary'
);
select is(
    pg_temp.ended('running'), 'a-days b-silent h-leased',
    'R08: liveness decides and not age: five days with heartbeats or a lease change nothing'
);

select * from finish();
rollback;

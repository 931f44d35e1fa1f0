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

select pg_temp.stand('a-at', 'waiting_local_directory', interval '1 hour', interval '0');
select pg_temp.stand(
    'b-past', 'waiting_local_directory', interval '1 minute', interval '-1 microsecond'
);
select pg_temp.stand(
    'c-minute', 'waiting_local_directory', interval '1 hour', interval '1 minute'
);
select pg_temp.stand(
    'd-silent', 'waiting_local_directory', interval '1 minute', interval '1 minute',
    p_runtime => 11
);

select is(
    (select sum(s.runs) from dispatch.sweep() as s), 1::bigint,
    'R09: a waiting run ends when its lease has run out, however young its claim is'
);
select is(pg_temp.ended(), 'b-past', 'R09: and no sooner, however old its claim is');
select is(
    (select v.failure_reason from dispatch.runs as v where v.status = 'failed'), 'timeout',
    'as timed out'
);
select dispatch.extend_lease(dispatch_test.id(1), v.id, 1, interval '1 hour')
from dispatch.runs as v
where v.reason = 'c-minute';
select dispatch_test.advance_clock(interval '1 minute');
select is(
    (select sum(s.runs) from dispatch.sweep() as s), 1::bigint,
    'R09: a lease that is extended in time keeps it'
);
select is(
    pg_temp.ended('waiting_local_directory'), 'c-minute d-silent',
    'R09: the lease alone counts, not the runtime'
);

select * from finish();
rollback;

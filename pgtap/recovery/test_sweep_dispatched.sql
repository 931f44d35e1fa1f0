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

select pg_temp.runtime(11, interval '150 seconds 1 microsecond', 'online');
select pg_temp.runtime(12, interval '10 minutes', 'offline');
select pg_temp.runtime(13, interval '3 hours', 'offline');
select pg_temp.runtime(14, interval '3 hours 1 microsecond', 'offline');
select pg_temp.runtime(15, interval '150 seconds', 'online');
select pg_temp.runtime(16, interval '1 second', 'offline');
create temp table old (claimed interval) on commit drop;
insert into old (claimed) values ('300 seconds 1 microsecond');

select pg_temp.stand('a-300-s', 'dispatched', interval '300 seconds');
select pg_temp.stand('b-more', 'dispatched', o.claimed) from old as o;
select pg_temp.stand('c-live-lease', 'dispatched', o.claimed, interval '0') from old as o;
select pg_temp.stand('d-past-lease', 'dispatched', o.claimed, interval '-1 microsecond')
from old as o;
select pg_temp.stand('e-silent', 'dispatched', o.claimed, p_runtime => 11) from old as o;
select pg_temp.stand('f-offline', 'dispatched', o.claimed, p_runtime => 12) from old as o;
select pg_temp.stand('g-grace', 'dispatched', o.claimed, p_runtime => 13) from old as o;
select pg_temp.stand('h-lost', 'dispatched', o.claimed, p_runtime => 14) from old as o;
select pg_temp.stand('i-fresh', 'dispatched', o.claimed, p_runtime => 15) from old as o;
select pg_temp.stand('j-set-offline', 'dispatched', o.claimed, p_runtime => 16) from old as o;
select pg_temp.stand('k-young-lost', 'dispatched', interval '300 seconds', p_runtime => 14);
select pg_temp.stand('l-queued', 'queued', null);

select is(
    (select s.runs from dispatch.sweep(p_only => 'dispatched') as s), 4,
    'R6: four claims were neither started nor kept by anything'
);
select is(
    pg_temp.ended(), 'b-more d-past-lease h-lost i-fresh',
    'R6: older than 300 s, without a live lease, on a runtime that is alive or lost beyond 3 h'
);
select is(
    (
        select string_agg(distinct v.failure_reason || ': ' || v.error, ', ')
        from dispatch.runs as v
        where v.status = 'failed'
    ),
    'timeout: task timed out',
    'they fail as timed out'
);
select is(
    (
        select count(*)
        from dispatch.runs as v
        where v.status = 'failed' and v.finished_at = dispatch.clock()
            and v.lease_expires_at is null
    ),
    4::bigint, 'at that instant, and their leases end'
);
select dispatch_test.advance_clock(interval '1 microsecond');
select is(
    (select s.runs from dispatch.sweep(p_only => 'dispatched') as s), 4,
    'R6: a microsecond later so are those that stood on the boundary'
);
select is(
    pg_temp.ended('dispatched'), 'e-silent f-offline j-set-offline',
    'R6: a runtime that is silent for less than the grace keeps what it has'
);
select is(pg_temp.ended('queued'), 'l-queued', 'what is queued is no concern of this sweep');

select * from finish();
rollback;

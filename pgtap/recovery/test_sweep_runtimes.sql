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

select pg_temp.runtime(11, interval '150 seconds', 'online');
select pg_temp.runtime(12, interval '150 seconds 1 microsecond', 'online');
select pg_temp.runtime(13, interval '10 minutes', 'offline');
create function pg_temp.offline()
returns text
language sql
as $fn$
    select string_agg(r.daemon_id, ' ' order by r.daemon_id)
    from dispatch.runtime as r
    where r.status = 'offline';
$fn$;

select is(
    (select s.runs from dispatch.sweep(p_only => 'runtimes') as s), 1,
    'one online runtime was not seen within 150 s, and only that one counts'
);
select is(
    pg_temp.offline(), 'daemon-12 daemon-13',
    'seen exactly 150 s ago is still alive, a microsecond more is not'
);
select is(
    (
        select dispatch.clock() - r.last_seen_at
        from dispatch.runtime as r
        where r.id = dispatch_test.id(12)
    ),
    interval '150 seconds 1 microsecond',
    'how long it is silent is still counted from its last heartbeat'
);
select is(
    (select s.runs from dispatch.sweep(p_only => 'runtimes') as s), 0,
    'the sweep repeated finds none'
);
select dispatch_test.advance_clock(interval '1 hour');
select is(
    (select s.runs from dispatch.sweep(1, 'runtimes') as s), 1, 'p_max bounds a sweep'
);
select is(
    (select s.runs from dispatch.sweep(500, 'runtimes') as s), 1, 'the next one does the rest'
);
select dispatch.heartbeat(dispatch_test.id(1), array[dispatch_test.id(12)]);
select is(
    pg_temp.offline(), 'daemon-1 daemon-11 daemon-13', 'a heartbeat brings a runtime back'
);

select * from finish();
rollback;

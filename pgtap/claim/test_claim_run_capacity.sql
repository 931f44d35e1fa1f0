begin;
select plan(9);

select dispatch_test.set_clock('2030-01-15 12:00:00+00');
select dispatch.put_workspace(dispatch_test.id(1), 'Works');
select dispatch.put_member(dispatch_test.id(1), dispatch_test.id(2), 'Ana');
select dispatch.put_runtime(dispatch_test.id(1), dispatch_test.id(3), 'daemon-1');
select dispatch.heartbeat(dispatch_test.id(1), array[dispatch_test.id(3)]);
select dispatch.put_agent(
    dispatch_test.id(1), dispatch_test.id(4), 'alpha', dispatch_test.id(2), dispatch_test.id(3)
);
insert into dispatch.issue (
    workspace_id, id, number, title, status, priority, creator_type, created_at, updated_at
)
select
    dispatch_test.id(1), dispatch_test.id(100 + n), n, 'issue', 'todo', 'none', 'system',
    dispatch.clock(), dispatch.clock()
from generate_series(1, 6) as n;

create function pg_temp.wake(
    p_issue integer,
    p_payload jsonb default '{}',
    p_priority integer default 0
)
returns uuid
language sql
as $fn$
    select d.run_id
    from dispatch.queue_wake(
        dispatch_test.id(1), dispatch_test.id(4), 'mention', p_payload,
        p_issue_id => dispatch_test.id(100 + p_issue), p_priority => p_priority
    ) as d;
$fn$;

select dispatch.put_agent(
    dispatch_test.id(1), dispatch_test.id(4), 'alpha', dispatch_test.id(2),
    p_max_concurrent_runs => 3
);
select pg_temp.wake(n) from generate_series(1, 6) as n;
select dispatch.queue_wake(
    dispatch_test.id(1), dispatch_test.id(4), 'later', p_fire_at => '2030-01-16 00:00+00'
);
create function pg_temp.claimed()
returns bigint
language sql
as $fn$
    select count(*) from dispatch.claim_run(dispatch_test.id(1), dispatch_test.id(4));
$fn$;
create function pg_temp.run_of(p_issue integer)
returns uuid
language sql
as $fn$
    select r.id from dispatch.run as r where r.issue_id = dispatch_test.id(100 + p_issue);
$fn$;

select is(
    pg_temp.claimed() + pg_temp.claimed() + pg_temp.claimed(), 3::bigint,
    'C2: neither queued nor deferred runs count'
);
select is(pg_temp.claimed(), 0::bigint, 'C2: dispatched runs count');
select dispatch.start_run(dispatch_test.id(1), pg_temp.run_of(1), 1);
select is(pg_temp.claimed(), 0::bigint, 'C2: running runs count');
select dispatch.wait_run(dispatch_test.id(1), pg_temp.run_of(2), 1, 'checkout');
select is(pg_temp.claimed(), 0::bigint, 'C2: waiting runs count');
select dispatch.complete_run(dispatch_test.id(1), pg_temp.run_of(1), 1);
select is(pg_temp.claimed(), 1::bigint, 'a completed run does not');
select dispatch.defer_run(
    dispatch_test.id(1), pg_temp.run_of(2), 1, dispatch.clock() + interval '1 hour'
);
select is(pg_temp.claimed(), 1::bigint, 'nor does one that was put off');
select dispatch.requeue_run(dispatch_test.id(1), pg_temp.run_of(3), 1);
select is(pg_temp.claimed(), 1::bigint, 'nor one that was given back');
select dispatch.put_agent(
    dispatch_test.id(1), dispatch_test.id(4), 'alpha', dispatch_test.id(2),
    p_max_concurrent_runs => 1
);
select is(
    (
        select count(*)
        from dispatch.claim_runs(dispatch_test.id(1), array[dispatch_test.id(3)], 9, 9)
    ),
    0::bigint,
    'R01: a capacity below what is in hand admits nothing'
);
select dispatch.put_agent(
    dispatch_test.id(1), dispatch_test.id(4), 'alpha', dispatch_test.id(2),
    p_max_concurrent_runs => 4
);
select is(
    (
        select count(*)
        from dispatch.claim_runs(dispatch_test.id(1), array[dispatch_test.id(3)], 9, 9)
    ),
    1::bigint,
    'R01: a raised one admits the difference'
);

select * from finish();
rollback;

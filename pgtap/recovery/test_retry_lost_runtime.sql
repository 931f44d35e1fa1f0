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

create temp table run on commit drop as
select d.run_id as id
from dispatch.queue_wake(
    dispatch_test.id(1), dispatch_test.id(4), 'work', '{"n": 1}',
    p_issue_id => dispatch_test.id(101)
) as d;
select dispatch.claim_run(dispatch_test.id(1), dispatch_test.id(4));
select dispatch_test.advance_clock(interval '1 hour');
select dispatch.start_run(dispatch_test.id(1), r.id, 1) from run as r;
create function pg_temp.stands()
returns text
language sql
as $fn$
    select string_agg(
        concat_ws(' ', v.attempt, v.status, v.failure_reason), ', ' order by v.attempt
    )
    from dispatch.runs as v;
$fn$;
create function pg_temp.tick_at(p_after interval)
returns text
language sql
as $fn$
    select dispatch_test.set_clock('2030-01-15 12:00:00+00'::timestamptz + p_after);
    select dispatch.tick();
    select pg_temp.stands();
$fn$;

select is(
    pg_temp.tick_at('3 hours'), '1 running',
    'a runtime that is silent for exactly the grace keeps its run'
);
select is(
    pg_temp.tick_at('3 hours 1 second'), '1 failed runtime_offline, 2 deferred',
    'R13: then the run fails, and its retry is armed'
);
select is(
    pg_temp.tick_at('6 hours 2 seconds'), '1 failed runtime_offline, 2 deferred',
    'R13: which waits as long once more'
);
select is(
    pg_temp.tick_at('6 hours 3 seconds'),
    '1 failed runtime_offline, 2 failed runtime_reconnect_timeout',
    'R13: and is then given up, without another child'
);
select is(
    (select count(*) from dispatch.claim_run(dispatch_test.id(1), dispatch_test.id(4))),
    0::bigint, 'nothing is left to claim'
);

select * from finish();
rollback;

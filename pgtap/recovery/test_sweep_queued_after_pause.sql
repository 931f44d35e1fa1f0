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
from generate_series(1, 3) as n;

select dispatch.queue_wake(
    dispatch_test.id(1), dispatch_test.id(4), 'work', p_issue_id => dispatch_test.id(100 + n)
)
from generate_series(1, 3) as n;
create function pg_temp.sweep()
returns bigint
language sql
as $fn$
    select sum(s.runs) from dispatch.sweep(p_only => 'queued') as s;
$fn$;

select dispatch.pause_workspace(dispatch_test.id(1), 'system', p_reason => 'holiday');
select dispatch_test.advance_clock(interval '9 hours');
select is(pg_temp.sweep(), 0::bigint, 'R17: nothing expires while the workspace is paused');
select dispatch.resume_workspace(dispatch_test.id(1), 'system');
select is(
    pg_temp.sweep(), 0::bigint, 'R17: nor as soon as it is resumed: nobody could claim before'
);
select dispatch_test.advance_clock(interval '2 hours');
select is(pg_temp.sweep(), 0::bigint, 'R17: it has 2 h from then on');
select dispatch.heartbeat(dispatch_test.id(1), array[dispatch_test.id(3)]);
select is(
    (
        select count(*)
        from dispatch.claim_runs(dispatch_test.id(1), array[dispatch_test.id(3)], 1)
    ),
    1::bigint, 'R17: and is claimed as ever'
);
select dispatch_test.advance_clock(interval '1 microsecond');
select is(pg_temp.sweep(), 2::bigint, 'after which it expires');

select * from finish();
rollback;

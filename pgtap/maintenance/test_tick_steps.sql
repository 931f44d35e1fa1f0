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
from generate_series(1, 4) as n;

-- One thing to do for each step: an assignment that a pause refused, a deferred run that is
-- due, a run that waited too long, and one that ended long ago.
create temp table run on commit drop as
select
    (
        select d.run_id
        from dispatch.queue_wake(
            dispatch_test.id(1), dispatch_test.id(4), 'old',
            p_issue_id => dispatch_test.id(101)
        ) as d
    ) as old,
    (
        select d.run_id
        from dispatch.queue_wake(
            dispatch_test.id(1), dispatch_test.id(4), 'stale',
            p_issue_id => dispatch_test.id(102)
        ) as d
    ) as stale;
select dispatch.cancel_run(dispatch_test.id(1), r.old, 'system') from run as r;
select dispatch_test.advance_clock(interval '2160 hours 1 second');
select dispatch.heartbeat(dispatch_test.id(1), array[dispatch_test.id(3)]);
select dispatch.queue_wake(
    dispatch_test.id(1), dispatch_test.id(4), 'due', p_issue_id => dispatch_test.id(103),
    p_fire_at => dispatch.clock() + interval '1 second'
);
select dispatch_test.advance_clock(interval '1 second');
insert into dispatch.deferred_assignment (
    workspace_id, issue_id, agent_id, assignment_generation, actor_type, created_at
)
values (
    dispatch_test.id(1), dispatch_test.id(104), dispatch_test.id(4), 1, 'system',
    dispatch.clock()
);
create function pg_temp.stands()
returns text
language sql
as $fn$
    select string_agg(concat_ws(' ', v.reason, v.status, v.failure_reason), ', ' order by v.id)
    from dispatch.runs as v;
$fn$;

select is(
    pg_temp.stands(), 'old cancelled, stale queued, due deferred', 'how it stands before'
);
select results_eq(
    'select t.step, t.rows from dispatch.tick() as t',
    $$values ('replay', 1), ('promote', 1), ('sweep', 1), ('prune', 1)$$,
    'a tick does its steps in order and says how much each has done'
);
select is(
    pg_temp.stands(), 'stale failed queued_expired, due queued', 'each step has done its part'
);
select is(
    (select a.resolution from dispatch.deferred_assignment as a), 'dropped',
    'an assignment that does not hold any more is dropped'
);
select results_eq(
    'select t.step, t.rows from dispatch.tick() as t',
    $$values ('replay', 0), ('promote', 0), ('sweep', 0), ('prune', 0)$$,
    'the next tick finds nothing to do'
);

select * from finish();
rollback;

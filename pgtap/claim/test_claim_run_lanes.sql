begin;
select plan(6);

select dispatch_test.set_clock('2030-01-15 12:00:00+00');
select dispatch.put_workspace(dispatch_test.id(1), 'Works');
select dispatch.put_member(dispatch_test.id(1), dispatch_test.id(2), 'Ana');
select dispatch.put_runtime(dispatch_test.id(1), dispatch_test.id(3), 'daemon-1');
select dispatch.heartbeat(dispatch_test.id(1), array[dispatch_test.id(3)]);
select dispatch.put_agent(
    dispatch_test.id(1), dispatch_test.id(4), 'alpha', dispatch_test.id(2), dispatch_test.id(3)
);
select dispatch.put_agent(
    dispatch_test.id(1), dispatch_test.id(5), 'beta', dispatch_test.id(2), dispatch_test.id(3)
);
insert into dispatch.issue (
    workspace_id, id, number, title, status, priority, creator_type, created_at, updated_at
)
select
    dispatch_test.id(1), dispatch_test.id(100 + n), n, 'issue', 'todo', 'none', 'system',
    dispatch.clock(), dispatch.clock()
from generate_series(1, 2) as n;

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

create function pg_temp.claimed(p_agent integer default 4)
returns integer
language sql
as $fn$
    select v.number::integer
    from dispatch.claim_run(dispatch_test.id(1), dispatch_test.id(p_agent)) as c
    inner join dispatch.issue as v on v.id = c.issue_id;
$fn$;
create temp table run on commit drop as select pg_temp.wake(1) as id;
select pg_temp.claimed();
select dispatch.wait_run(dispatch_test.id(1), (select r.id from run as r), 1, 'checkout');
select pg_temp.wake(1, '{"second": true}', 9);
select pg_temp.wake(2);
select dispatch.queue_wake(
    dispatch_test.id(1), dispatch_test.id(5), 'mention', p_issue_id => dispatch_test.id(101)
);

select is(
    pg_temp.claimed(), 2,
    'R02: a run of an issue in hand is passed over, and hides none behind it'
);
select is(pg_temp.claimed(), null, 'R02: it waits while the other one waits');
select is(pg_temp.claimed(5), 1, 'C4: another agent may work on the same issue');
select dispatch.start_run(dispatch_test.id(1), (select r.id from run as r), 1);
select is(pg_temp.claimed(), null, 'R02: it waits while the other one is running');
select dispatch.complete_run(dispatch_test.id(1), (select r.id from run as r), 1);
select is(pg_temp.claimed(), 1, 'R02: and goes as soon as that one has ended');
select is(
    dispatch_test.error_of(
        $$
        insert into dispatch.run (
            workspace_id, id, agent_id, runtime_id, issue_id, lane, status, requested_at
        )
        values (
            dispatch_test.id(1), dispatch_test.id(900), dispatch_test.id(4),
            dispatch_test.id(3), dispatch_test.id(101), dispatch_test.id(101), 'running',
            dispatch.clock()
        )
        $$
    ),
    '23505',
    'two active runs of one lane break a unique index, whoever writes'
);

select * from finish();
rollback;

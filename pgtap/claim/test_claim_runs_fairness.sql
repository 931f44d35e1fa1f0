begin;
select plan(5);

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
from generate_series(1, 300) as n;

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
    p_max_concurrent_runs => 1
);
select pg_temp.wake(n) from generate_series(1, 300) as n;
select count(*) from dispatch.claim_run(dispatch_test.id(1), dispatch_test.id(4));
select dispatch_test.advance_clock(interval '1 second');
create temp table young on commit drop as
select d.run_id as id
from dispatch.queue_wake(
    dispatch_test.id(1), dispatch_test.id(5), 'mention', p_issue_id => dispatch_test.id(101)
) as d;

select results_eq(
    $$
    select c.run_id
    from dispatch.claim_runs(dispatch_test.id(1), array[dispatch_test.id(3)], 1) as c
    $$,
    'select y.id from young as y',
    'R04: an agent at its capacity does not hide the younger run of another'
);
select dispatch.requeue_run(dispatch_test.id(1), (select y.id from young as y), 1);
select dispatch.cancel_run(dispatch_test.id(1), r.id, 'system')
from dispatch.run as r
where r.status = 'dispatched';
select dispatch.set_agent_status(dispatch_test.id(1), dispatch_test.id(4), 'paused');
select results_eq(
    $$
    select c.run_id
    from dispatch.claim_runs(dispatch_test.id(1), array[dispatch_test.id(3)], 1) as c
    $$,
    'select y.id from young as y',
    'R04: nor does a paused one'
);
select dispatch.requeue_run(dispatch_test.id(1), (select y.id from young as y), 2);
select dispatch.set_agent_status(dispatch_test.id(1), dispatch_test.id(4), 'active');
select dispatch.put_runtime(dispatch_test.id(1), dispatch_test.id(6), 'daemon-1');
select dispatch.bind_agent(dispatch_test.id(1), dispatch_test.id(4), dispatch_test.id(6));
select results_eq(
    $$
    select c.run_id
    from dispatch.claim_runs(
        dispatch_test.id(1), array[dispatch_test.id(3), dispatch_test.id(6)], 1
    ) as c
    $$,
    'select y.id from young as y',
    'R04: nor one whose runtime is not fresh'
);
select dispatch.start_run(dispatch_test.id(1), (select y.id from young as y), 3);
-- the next run of beta has the same issue and must wait; a younger one must not
select dispatch.queue_wake(
    dispatch_test.id(1), dispatch_test.id(5), 'mention', p_issue_id => dispatch_test.id(101),
    p_priority => 9
);
select dispatch.queue_wake(
    dispatch_test.id(1), dispatch_test.id(5), 'mention', p_issue_id => dispatch_test.id(102)
);
select is(
    (
        select c.issue_id
        from dispatch.claim_runs(dispatch_test.id(1), array[dispatch_test.id(3)], 1) as c
    ),
    dispatch_test.id(102),
    'R04: nor a run of high priority whose lane is taken'
);
select dispatch.queue_wake(
    dispatch_test.id(1), dispatch_test.id(5), 'chat', p_chat_session_id => dispatch_test.id(50),
    p_priority => 9
)
from generate_series(1, 30);
select dispatch.queue_wake(
    dispatch_test.id(1), dispatch_test.id(5), 'mention', p_issue_id => dispatch_test.id(103)
);
select is(
    (
        select string_agg(coalesce(c.chat_session_id, c.issue_id)::text, ' ')
        from dispatch.claim_runs(dispatch_test.id(1), array[dispatch_test.id(3)], 4, 4) as c
    ),
    dispatch_test.id(50) || ' ' || dispatch_test.id(103),
    'R04: nor the queue of one chat'
);

select * from finish();
rollback;

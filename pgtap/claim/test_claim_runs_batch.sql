begin;
select plan(7);

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
from generate_series(1, 3) as n;

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

select dispatch.put_runtime(dispatch_test.id(1), dispatch_test.id(6), 'daemon-1');
select dispatch.heartbeat(dispatch_test.id(1), array[dispatch_test.id(6)]);
select dispatch.put_agent(
    dispatch_test.id(1), dispatch_test.id(4), 'alpha', dispatch_test.id(2),
    p_max_concurrent_runs => 2
);
select dispatch.put_agent(
    dispatch_test.id(1), dispatch_test.id(5), 'beta', dispatch_test.id(2), dispatch_test.id(6)
);
-- alpha: three of one chat, three on issues; beta: one on an issue of alpha
select dispatch.queue_wake(
    dispatch_test.id(1), dispatch_test.id(4), 'chat', p_chat_session_id => dispatch_test.id(50),
    p_priority => 5
)
from generate_series(1, 3);
select pg_temp.wake(n) from generate_series(1, 3) as n;
select dispatch.queue_wake(
    dispatch_test.id(1), dispatch_test.id(5), 'mention', p_issue_id => dispatch_test.id(101)
);
create temp table taken on commit drop as
select c.ordinality as n, c.run_id, c.agent_id, c.chat_session_id, c.priority, c.requested_at
from dispatch.claim_runs(
    dispatch_test.id(1),
    array[
        dispatch_test.id(3), dispatch_test.id(6), dispatch_test.id(3), dispatch_test.id(99)
    ],
    10, 10
) with ordinality as c;

select is(
    (select count(*) from taken as t where t.agent_id = dispatch_test.id(4)), 2::bigint,
    'R03: the rows chosen count against the capacity'
);
select is(
    (select count(*) from taken as t where t.chat_session_id is not null), 1::bigint,
    'R03: and against the lane'
);
select is(
    (select count(*) from taken as t where t.agent_id = dispatch_test.id(5)), 1::bigint,
    'R03: another agent is served'
);
select is(
    (select count(distinct t.run_id) from taken as t), 3::bigint,
    'R03: no run is returned twice although a runtime is named twice'
);
select is(
    (select array_agg(t.run_id order by t.n) from taken as t),
    (
        select array_agg(t.run_id order by t.priority desc, t.requested_at, t.run_id)
        from taken as t
    ),
    'R03: the answer is in claim order'
);
select is(
    (select count(*) from dispatch.run as r where r.status = 'dispatched'), 3::bigint,
    'it holds every run that was moved'
);
select is_empty(
    $$
    select c.run_id
    from dispatch.claim_runs(dispatch_test.id(1), array[dispatch_test.id(99)], 9) as c
    union all
    select c.run_id
    from dispatch.claim_runs(dispatch_test.id(7), array[dispatch_test.id(3)], 9) as c
    $$,
    'unknown and foreign runtimes are skipped'
);

select * from finish();
rollback;

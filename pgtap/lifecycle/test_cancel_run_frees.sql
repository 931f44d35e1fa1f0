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

select dispatch.put_agent(
    dispatch_test.id(1), dispatch_test.id(4), 'alpha', dispatch_test.id(2),
    p_max_concurrent_runs => 1
);
create temp table run on commit drop as
select pg_temp.wake(1) as a, pg_temp.wake(2) as b;
select count(*) from dispatch.claim_run(dispatch_test.id(1), dispatch_test.id(4));

select pg_temp.wake(1, '{"late": true}');
select dispatch.cancel_run(dispatch_test.id(1), (select r.a from run as r), 'system');

select is(
    (select count(*) from dispatch.run as r where r.status <> 'cancelled'),
    1::bigint,
    'cancelling a run cancels what is recorded on it'
);
select results_eq(
    $$
    select c.run_id from dispatch.claim_run(dispatch_test.id(1), dispatch_test.id(4)) as c
    $$,
    'select r.b from run as r',
    'and frees capacity'
);
select dispatch.cancel_run(dispatch_test.id(1), (select r.b from run as r), 'system');
select is(
    (
        select string_agg(t.reason, ' ')
        from run as r
        cross join lateral (
            select s.reason from dispatch.start_run(dispatch_test.id(1), r.b, 1) as s
            union all
            select s.reason from dispatch.complete_run(dispatch_test.id(1), r.b, 1) as s
            union all
            select s.reason from dispatch.fail_run(dispatch_test.id(1), r.b, 1, 'timeout') as s
        ) as t
    ),
    'already_terminal already_terminal already_terminal',
    'T99: what a daemon reports afterwards changes nothing'
);
select isnt(
    pg_temp.wake(1), (select r.a from run as r),
    'R12: after a cancellation the pair gets a new run'
);
select is(
    (
        select t.reason
        from dispatch.cancel_run(dispatch_test.id(1), (select r.a from run as r), 'system') as t
    ),
    'already_terminal',
    'a second cancellation is none'
);

select * from finish();
rollback;

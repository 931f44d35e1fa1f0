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
from generate_series(1, 1) as n;

-- asks for a run of alpha on the issue with a wake that is told apart by its number
create function pg_temp.wake(p_n integer, p_pad integer default 0)
returns dispatch.decision
language sql
as $fn$
    select dispatch.queue_wake(
        dispatch_test.id(1), dispatch_test.id(4), 'mention',
        jsonb_build_object('n', p_n) || case
            when p_pad > 0 then jsonb_build_object('pad', repeat('x', p_pad)) else '{}'
        end,
        p_issue_id => dispatch_test.id(101), p_coalesce => false
    );
$fn$;
-- the numbers of the wakes that the next claim delivers
create function pg_temp.take()
returns text
language sql
as $fn$
    select string_agg(
        concat(t.value -> 'payload' ->> 'n', 'x' || nullif(t.value ->> 'count', '1')), ' '
        order by t.ordinality
    )
    from dispatch.claim_run(dispatch_test.id(1), dispatch_test.id(4)) as c
    cross join lateral jsonb_array_elements(c.triggers) with ordinality as t;
$fn$;

create temp table run on commit drop as select (pg_temp.wake(1)).run_id as id;
select pg_temp.take();
select pg_temp.wake(2);
create temp table answer on commit drop as
select t.applied, t.retry_run_id, t.follow_up_run_id
from dispatch.fail_run(
    dispatch_test.id(1), (select r.id from run as r), 1, 'agent_error.unknown', 'boom'
) as t;

select results_eq(
    'select a.applied, a.retry_run_id, a.follow_up_run_id is not null from answer as a',
    'values (true, null::uuid, true)',
    'a final failure queues what the run owed'
);
select is(
    (
        select t.follow_up_run_id
        from dispatch.fail_run(
            dispatch_test.id(1), (select r.id from run as r), 1, 'agent_error.unknown', 'boom'
        ) as t
    ),
    (select a.follow_up_run_id from answer as a),
    'R07: the report repeated names the same follow-up'
);
select is((select count(*) from dispatch.run), 2::bigint, 'R07: and makes no other');
select is(pg_temp.take(), '2', 'R11: which delivers it');
select dispatch.fail_run(
    dispatch_test.id(1), (select a.follow_up_run_id from answer as a), 1, 'agent_error.unknown'
);
select is(
    (select count(*) from dispatch.run as r where r.status <> 'failed'), 0::bigint,
    'a final failure without debts queues nothing'
);

select * from finish();
rollback;

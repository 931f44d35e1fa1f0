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

create temp table run on commit drop as select (pg_temp.wake(1, 200000)).run_id as id;
select pg_temp.wake(2, 200000);
select pg_temp.wake(3, 200000);
select pg_temp.wake(4, 10);
select pg_temp.wake(5, 100000);
select is(
    pg_temp.take(), '1 2 5',
    'a claim delivers the newest wake and the oldest that fit 512 KiB, in order of arrival'
);
select dispatch.requeue_run(dispatch_test.id(1), (select r.id from run as r), 1);
select is(pg_temp.take(), '1 2 5', 'the next claim of the run delivers the same');
create temp table answer on commit drop as
select t.follow_up_run_id as id
from dispatch.start_run(dispatch_test.id(1), (select r.id from run as r), 2) as t;
select isnt((select a.id from answer as a), null, 'what does not fit is owed');
select dispatch.complete_run(dispatch_test.id(1), (select r.id from run as r), 2);
select is(pg_temp.take(), '3 4', 'R11: and delivered by the follow-up');
select dispatch.start_run(dispatch_test.id(1), (select a.id from answer as a), 1);
select dispatch.complete_run(dispatch_test.id(1), (select a.id from answer as a), 1);
select is(
    (select count(*) from dispatch.run as r where r.status <> 'completed'), 0::bigint,
    'after which nothing is left'
);

select pg_temp.wake(6);
select pg_temp.wake(7, 1000000);
select is(pg_temp.take(), '7', 'the newest is delivered even when it fills the budget alone');
select isnt(
    (
        select t.follow_up_run_id
        from dispatch.run as r
        cross join lateral dispatch.start_run(dispatch_test.id(1), r.id, 1) as t
        where r.status = 'dispatched'
    ),
    null,
    'and the older one is owed'
);

select * from finish();
rollback;

begin;
select plan(10);

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
select is(pg_temp.take(), '1', 'the claim delivers what was asked before it');
select results_eq(
    'select d.outcome::text, d.run_id from pg_temp.wake(2) as d',
    $$select 'absorbed', r.id from run as r$$,
    'a wake that comes while the run is dispatched is absorbed by it'
);
select pg_temp.wake(3);
create temp table answer on commit drop as
select t.applied, t.follow_up_run_id as id
from dispatch.start_run(dispatch_test.id(1), (select r.id from run as r), 1) as t;

select results_eq(
    $$
    select v.id, v.status::text, v.reason, v.payload, v.idempotency_key, v.attempt
    from dispatch.runs as v
    where v.id <> (select r.id from run as r)
    $$,
    $$select a.id, 'queued', 'mention', '{"n": 1}'::jsonb, null::text, 1 from answer as a$$,
    'the start queues one follow-up, with the reason and payload of its run and no key'
);
select is(
    (
        select string_agg(t.reason, ' ')
        from dispatch.start_run(dispatch_test.id(1), (select r.id from run as r), 1) as t
    ),
    'wrong_state',
    'starting once more is refused'
);
select is((select count(*) from dispatch.run), 2::bigint, 'and queues nothing');
select is(pg_temp.take(), null, 'the follow-up waits for its lane');
select results_eq(
    'select d.outcome::text, d.run_id from pg_temp.wake(4) as d',
    $$select 'absorbed', a.id from answer as a$$,
    'it absorbs what comes meanwhile'
);
select dispatch.complete_run(dispatch_test.id(1), (select r.id from run as r), 1);
select is(pg_temp.take(), '2 3 4', 'R11: and delivers each wake that came too late, once');
select is(
    (
        select t.follow_up_run_id
        from dispatch.start_run(dispatch_test.id(1), (select a.id from answer as a), 1) as t
    ),
    null,
    'after which nothing is owed any more'
);
select is((select count(*) from dispatch.run), 2::bigint, 'R11: two runs stood for four wakes');

select * from finish();
rollback;

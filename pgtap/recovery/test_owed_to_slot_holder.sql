begin;
select plan(8);

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
select pg_temp.wake(2);
select pg_temp.take();
select dispatch.start_run(dispatch_test.id(1), (select r.id from run as r), 1);
create temp table holder on commit drop as select (pg_temp.wake(3)).run_id as id;

select results_eq(
    $$
    select t.applied, t.status::text, t.retry_run_id, t.reason
    from dispatch.fail_run(
        dispatch_test.id(1), (select r.id from run as r), 1, 'timeout'
    ) as t
    $$,
    $$values (true, 'failed', null::uuid, null::text)$$,
    'a retry that finds the slot taken yields, and the failure stands'
);
select is((select count(*) from dispatch.run), 2::bigint, 'no child is made');
select is(
    (
        select string_agg(t.payload ->> 'n', ' ' order by t.seq)
        from dispatch.run_trigger as t
        where t.run_id = (select h.id from holder as h) and t.inherited
    ),
    '1 2',
    'the run that holds the slot takes over what the failed one stood for'
);
select is(
    (
        select string_agg(coalesce(t.retry_run_id::text, '-'), ' ')
        from dispatch.fail_run(
            dispatch_test.id(1), (select r.id from run as r), 1, 'timeout'
        ) as t
    ),
    '-',
    'R07: the report repeated changes nothing'
);
select is(pg_temp.take(), '3 1 2', 'R11: and delivers it after its own wake');
select dispatch.start_run(dispatch_test.id(1), (select h.id from holder as h), 1);
select is((select count(*) from dispatch.run), 2::bigint, 'after which nothing is owed');
select is(
    (
        select t.retry_run_id
        from dispatch.fail_run(
            dispatch_test.id(1), (select h.id from holder as h), 1, 'timeout'
        ) as t
    ) is not null,
    true,
    'the holder has its own attempts'
);
select is(pg_temp.take(), '3 1 2', 'R11: and its retry delivers all of it once more');

select * from finish();
rollback;

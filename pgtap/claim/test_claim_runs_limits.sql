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
from generate_series(1, 60) as n;

select dispatch.put_agent(
    dispatch_test.id(1), dispatch_test.id(n), 'agent', dispatch_test.id(2), dispatch_test.id(3),
    p_max_concurrent_runs => 50
)
from generate_series(11, 17) as n;
create function pg_temp.fill(p_agents integer, p_issues integer)
returns bigint
language sql
as $fn$
    select count(*)
    from dispatch.queue_wakes(
        dispatch_test.id(1),
        (
            select jsonb_agg(jsonb_build_object(
                'agent_id', dispatch_test.id(10 + a), 'reason', 'mention',
                'issue_id', dispatch_test.id(100 + i)
            ) order by a, i)
            from generate_series(1, p_agents) as a
            cross join generate_series(1, p_issues) as i
        )
    );
$fn$;
create function pg_temp.claimed(p_max integer, p_per_agent integer default 1)
returns text
language sql
as $fn$
    select concat_ws(' ', count(*), max(a.runs))
    from (
        select c.agent_id, count(*) over (partition by c.agent_id) as runs
        from dispatch.claim_runs(
            dispatch_test.id(1), array[dispatch_test.id(3), dispatch_test.id(3)], p_max,
            p_per_agent
        ) as c
    ) as a;
$fn$;
select pg_temp.fill(3, 3);

select is(pg_temp.claimed(0), '0', 'C11: nothing is claimed when nothing is asked for');
select is(
    (select count(*) from dispatch.claim_runs(dispatch_test.id(1), '{}', 9)), 0::bigint,
    'C11: nor for no runtime'
);
select is(pg_temp.claimed(2), '2 1', 'C11: two of three agents');
select is(pg_temp.claimed(9), '3 1', 'C11: one run of an agent in a call');
select is(pg_temp.claimed(9, 2), '4 2', 'or as many as asked for');
select is(pg_temp.claimed(9, 9), '0', 'until none is left');
select is(
    (select count(*) from dispatch.claim_runs(dispatch_test.id(1), array[dispatch_test.id(3)])),
    0::bigint,
    'by default it is one run'
);
select pg_temp.fill(7, 60);
select is(
    pg_temp.claimed(100000, 100000), '256 50',
    'more than 256 runs are not claimed in one call, nor more than a capacity'
);

select * from finish();
rollback;

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
from generate_series(1, 1000) as n;

create temp table answer on commit drop as
select d.ordinality as n, d.outcome, d.run_id
from dispatch.queue_wakes(
    dispatch_test.id(1),
    (
        select jsonb_agg(
            jsonb_build_object(
                'agent_id', dispatch_test.id(4), 'reason', 'mention',
                'issue_id', dispatch_test.id(100 + n), 'payload', jsonb_build_object('n', n)
            )
            order by n
        )
        from generate_series(1, 1000) as n
    )
) with ordinality as d;

select is(
    (select count(*) from answer as a where a.outcome = 'queued'),
    1000::bigint,
    'R31: a thousand elements are one batch'
);
select is_empty(
    $$
    select a.n
    from answer as a
    inner join dispatch.runs as r on r.id = a.run_id
    where (r.payload ->> 'n')::bigint <> a.n
    $$,
    'the decisions come in the order of the elements'
);
select is(
    (select array_agg(a.n order by a.run_id) from answer as a),
    (select array_agg(n order by n) from generate_series(1, 1000) as n)::bigint[],
    'and their ids ascend in it'
);
select is(
    dispatch_test.error_of(
        $$
        select dispatch.queue_wakes(
            dispatch_test.id(1),
            (
                select jsonb_agg(
                    jsonb_build_object('agent_id', dispatch_test.id(4), 'reason', 'more')
                )
                from generate_series(1, 1001)
            )
        )
        $$
    ),
    'PD400 p_wakes',
    'R31: one more is refused'
);
select is(
    (select count(*) from dispatch.run), 1000::bigint, 'the refused batch wrote nothing'
);

select * from finish();
rollback;

begin;
select plan(11);

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

select dispatch.put_runtime(dispatch_test.id(1), dispatch_test.id(6), 'daemon-2');
select dispatch.heartbeat(dispatch_test.id(1), array[dispatch_test.id(6)]);
select pg_temp.wake(1);
create function pg_temp.refusal(p_arguments text)
returns text
language sql
as $fn$
    select dispatch_test.error_of('select dispatch.claim_runs(' || p_arguments || ')');
$fn$;
create function pg_temp.with_good(p_arguments text)
returns text
language sql
as $fn$
    select pg_temp.refusal('dispatch_test.id(1), array[dispatch_test.id(3)], ' || p_arguments);
$fn$;

select is(
    pg_temp.refusal('null, array[dispatch_test.id(3)]'), 'PD400 p_workspace_id',
    'the workspace is required'
);
select is(
    pg_temp.refusal('''00000000-0000-0000-0000-000000000000'', array[dispatch_test.id(3)]'),
    'PD400 p_workspace_id',
    'B2: and not the all-zero uuid'
);
select is(
    pg_temp.refusal('dispatch_test.id(1), null'), 'PD400 p_runtime_ids',
    'the runtimes are required'
);
select is(
    pg_temp.refusal('dispatch_test.id(1), array[dispatch_test.id(3), dispatch_test.id(6)]'),
    'PD400 p_runtime_ids',
    'the runtimes of one call belong to one daemon'
);
select is(
    concat_ws(', ', pg_temp.with_good('null'), pg_temp.with_good('-1')),
    'PD400 p_max, PD400 p_max',
    'a number of runs is required, and not negative'
);
select is(
    concat_ws(', ', pg_temp.with_good('1, null'), pg_temp.with_good('1, 0')),
    'PD400 p_per_agent, PD400 p_per_agent',
    'so is a number for each agent'
);
select is(pg_temp.with_good('1, 1, null'), 'PD400 p_start', 'whether to start must be said');
select is(
    (
        select string_agg(
            distinct pg_temp.with_good(format('1, 1, %s, %L', s.is_started, l.lease)), ', '
        )
        from unnest(array['true', 'false']) as s (is_started)
        cross join unnest(array['0', '-1 second', '25 hours']) as l (lease)
    ),
    'PD400 p_lease',
    'a lease is positive and at most 24 hours'
);
select is(
    (select v.status || ' ' || v.claim_no from dispatch.runs as v), 'queued 0',
    'nothing was claimed'
);
select is(
    pg_temp.refusal(
        $$
        dispatch_test.id(1),
        array[
            dispatch_test.id(3), null, '00000000-0000-0000-0000-000000000000',
            dispatch_test.id(99)
        ]
        $$
    ),
    '00000',
    'in an array of ids those that name no runtime are skipped'
);
select is(
    (select v.status || ' ' || v.claim_no from dispatch.runs as v), 'dispatched 1',
    'and the others served'
);

select * from finish();
rollback;

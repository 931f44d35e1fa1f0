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

create function pg_temp.depth()
returns text
language sql
as $fn$
    select string_agg(
        format(
            '%s %s %s', q.status, q.runs,
            extract(epoch from q.oldest_requested_at - '2030-01-15 12:00:00+00')::integer
        ),
        ', ' order by q.status
    )
    from dispatch.queue_depth as q
    where q.workspace_id = dispatch_test.id(1) and q.agent_id = dispatch_test.id(4);
$fn$;

select is(pg_temp.depth(), null, 'an agent without runs has no row');
create temp table run on commit drop as
select pg_temp.wake(1) as a, pg_temp.wake(2) as b;
select dispatch_test.advance_clock(interval '10 seconds');
select pg_temp.wake(3);
select dispatch.queue_wake(
    dispatch_test.id(1), dispatch_test.id(4), 'later', p_fire_at => '2030-01-16 00:00+00'
);
select dispatch.queue_wake(dispatch_test.id(1), dispatch_test.id(5), 'mention');
select is(
    pg_temp.depth(), 'deferred 1 10, queued 3 0',
    'runs are counted by agent and status, with the oldest of each'
);
select count(*) from dispatch.claim_runs(dispatch_test.id(1), array[dispatch_test.id(3)], 2, 2);
select dispatch.start_run(dispatch_test.id(1), (select r.a from run as r), 1);
select is(
    pg_temp.depth(), 'deferred 1 10, queued 1 10, dispatched 1 0, running 1 0',
    'every status of a run that has not ended is a row'
);
select dispatch.wait_run(dispatch_test.id(1), (select r.b from run as r), 1, 'checkout');
select dispatch.complete_run(dispatch_test.id(1), (select r.a from run as r), 1);
select is(
    pg_temp.depth(), 'deferred 1 10, queued 1 10, waiting_local_directory 1 0',
    'an ended run is none'
);
select is(
    (
        select string_agg(
            format('%s %s', c.column_name, c.data_type), ', ' order by c.ordinal_position
        )
        from information_schema.columns as c
        where c.table_schema = 'dispatch' and c.table_name = 'queue_depth'
    ),
    'workspace_id uuid, agent_id uuid, status USER-DEFINED, runs bigint, '
    'oldest_requested_at timestamp with time zone',
    'the columns are those that are read by name'
);

select * from finish();
rollback;

begin isolation level repeatable read;  -- noqa: PRS
select plan(6);

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

select pg_temp.wake(1);

create temp table refused (call text) on commit drop;
insert into refused (call)
values
('claim_run(dispatch_test.id(1), dispatch_test.id(4))'),
('claim_runs(dispatch_test.id(1), array[dispatch_test.id(3)])'),
('reclaim_runs(dispatch_test.id(1), array[dispatch_test.id(3)])'),
('promote_deferred(dispatch_test.id(1))'),
('recover_runtime(dispatch_test.id(1), dispatch_test.id(3))');
select is_empty(
    $$
    select r.call, dispatch_test.error_of('select dispatch.' || r.call)
    from refused as r
    where dispatch_test.error_of('select dispatch.' || r.call) <> 'PD400 transaction_isolation'
    $$,
    'what must see the newest rows refuses a stricter transaction'
);
select is(
    (select v.status || ' ' || v.claim_no from dispatch.runs as v), 'queued 0',
    'and moves nothing'
);
select is(
    dispatch_test.error_of(
        'select dispatch.claim_runs(null, null, null, null, null, interval ''25 hours'')'
    ),
    'PD400 transaction_isolation',
    'before it looks at an argument'
);
select isnt(
    pg_temp.wake(1, '{"second": true}'), null, 'wakes work at any level'
);
update dispatch.run as r
set status = 'dispatched', claim_no = 1, dispatched_at = dispatch.clock();
select is(
    (
        select string_agg(t.status::text, ' ')
        from dispatch.run as r
        cross join lateral dispatch.start_run(dispatch_test.id(1), r.id, 1) as t
    ),
    'running',
    'and so do reports'
);
select is(
    (
        select count(*) from dispatch.run as r where r.status = 'queued'
    ),
    1::bigint,
    'with their follow-ups'
);

select * from finish();
rollback;

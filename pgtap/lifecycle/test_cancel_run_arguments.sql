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

create temp table run on commit drop as select pg_temp.wake(1) as id;
create function pg_temp.refusal(p_arguments text)
returns text
language sql
as $fn$
    select dispatch_test.error_of('select dispatch.cancel_run(' || p_arguments || ')');
$fn$;
create function pg_temp.of_run(p_arguments text)
returns text
language sql
as $fn$
    select pg_temp.refusal(
        format('dispatch_test.id(1), %L, ', (select r.id from run as r)) || p_arguments
    );
$fn$;

select is(
    pg_temp.refusal($$null, dispatch_test.id(9), 'system'$$), 'PD400 p_workspace_id',
    'the workspace is required'
);
select is(
    pg_temp.refusal($$dispatch_test.id(1), null, 'system'$$), 'PD400 p_run_id',
    'the run is required'
);
select is(
    pg_temp.refusal(
        $$dispatch_test.id(1), '00000000-0000-0000-0000-000000000000', 'system'$$
    ),
    'PD400 p_run_id',
    'B2: the all-zero uuid is no run'
);
select is(pg_temp.of_run('null'), 'PD400 p_actor_type', 'the actor is required');
select is(pg_temp.of_run($$'robot'$$), 'PD400 p_actor_type', 'unknown word');
select is(pg_temp.of_run($$'agent'$$), 'PD400 p_actor_id', 'an agent must be named');
select is(
    pg_temp.of_run($$'user', '00000000-0000-0000-0000-000000000000'$$), 'PD400 p_actor_id',
    'B2: the all-zero uuid is nobody'
);
select is(
    pg_temp.of_run($$'agent', dispatch_test.id(4), dispatch_test.id(99)$$),
    'PD403 p_acting_run_id attribution_blocked',
    'an acting run must be active'
);
select is(
    pg_temp.refusal($$dispatch_test.id(1), dispatch_test.id(99), 'robot'$$),
    'PD400 p_actor_type',
    'arguments are checked before the run is looked up'
);
select is(
    (select v.status::text from dispatch.runs as v), 'queued', 'the run was left alone'
);

select * from finish();
rollback;

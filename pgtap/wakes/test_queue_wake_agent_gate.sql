begin;
select plan(12);

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

select dispatch.put_workspace(dispatch_test.id(7), 'Elsewhere');
select dispatch.put_member(dispatch_test.id(7), dispatch_test.id(2), 'Ana');
select dispatch.put_agent(
    dispatch_test.id(7), dispatch_test.id(8), 'foreign', dispatch_test.id(2)
);
select dispatch.put_runtime(dispatch_test.id(1), dispatch_test.id(6), 'daemon-2');

create function pg_temp.ask(p_agent integer)
returns text
language sql
as $fn$
    select concat_ws(' ', d.outcome, d.reason_code, d.run_id)
    from dispatch.queue_wake(
        dispatch_test.id(1), dispatch_test.id(p_agent), 'mention',
        p_issue_id => dispatch_test.id(101)
    ) as d;
$fn$;

select is(
    pg_temp.ask(99), 'blocked invocation_not_allowed',
    'Q9: an agent that does not exist is refused as data'
);
select is(
    (
        select row(d.outcome, d.reason_code, d.run_id, d.agent_id, d.detail)::text
        from dispatch.queue_wake(dispatch_test.id(1), dispatch_test.id(8), 'mention') as d
    ),
    (
        select row(d.outcome, d.reason_code, d.run_id, d.agent_id, d.detail)::text
        from dispatch.queue_wake(dispatch_test.id(1), dispatch_test.id(98), 'mention') as d
    ),
    'an agent of another workspace cannot be told from one that does not exist'
);

select dispatch.put_agent(
    dispatch_test.id(1), dispatch_test.id(11), 'unbound', dispatch_test.id(2)
);
select is(
    pg_temp.ask(11), 'blocked agent_runtime_required', 'E2: an unbound agent is refused'
);

select dispatch.put_agent(
    dispatch_test.id(1), dispatch_test.id(12), 'broken', dispatch_test.id(2),
    dispatch_test.id(6)
);
select dispatch.set_runtime_offline(
    dispatch_test.id(1), dispatch_test.id(6), 'not_executable'
);
select is(
    pg_temp.ask(12), 'blocked runtime_unusable', 'a runtime that cannot execute is refused'
);

select dispatch.set_agent_status(dispatch_test.id(1), dispatch_test.id(4), 'paused');
select is(pg_temp.ask(4), 'blocked agent_not_runnable', 'a paused agent is refused');
select dispatch.set_agent_status(dispatch_test.id(1), dispatch_test.id(4), 'stopped');
select is(pg_temp.ask(4), 'blocked agent_not_runnable', 'a stopped agent is refused');
select dispatch.set_agent_status(dispatch_test.id(1), dispatch_test.id(4), 'pending_approval');
select is(pg_temp.ask(4), 'blocked agent_not_runnable', 'an agent not approved is refused');

select dispatch.set_agent_status(dispatch_test.id(1), dispatch_test.id(12), 'paused');
select is(
    pg_temp.ask(12), 'blocked runtime_unusable', 'the runtime is judged before the status'
);
select dispatch.bind_agent(dispatch_test.id(1), dispatch_test.id(12), null);
select is(
    pg_temp.ask(12), 'blocked agent_runtime_required', 'the binding is judged before both'
);
select dispatch.archive_agent(dispatch_test.id(1), dispatch_test.id(12));
select is(
    pg_temp.ask(12), 'blocked target_unavailable',
    'E2: an archived agent is refused before all that'
);

select is(
    (select count(*) from dispatch.run) + (select count(*) from dispatch.run_detail),
    0::bigint,
    'no refused wake writes a run'
);
select dispatch.set_agent_status(dispatch_test.id(1), dispatch_test.id(4), 'active');
select dispatch.set_runtime_offline(dispatch_test.id(1), dispatch_test.id(3));
select matches(
    pg_temp.ask(4), '^queued queued ', 'an agent whose runtime is merely offline is queued'
);

select * from finish();
rollback;

begin;
select plan(13);

select dispatch_test.set_clock('2030-01-15 12:00:00+00');
select dispatch.put_workspace(dispatch_test.id(1), 'Works');
select dispatch.put_member(dispatch_test.id(1), dispatch_test.id(2), 'Ana');
select dispatch.put_runtime(dispatch_test.id(1), dispatch_test.id(3), 'daemon-1');
select dispatch.heartbeat(dispatch_test.id(1), array[dispatch_test.id(3)]);
select dispatch.put_agent(
    dispatch_test.id(1), dispatch_test.id(10 + n), 'agent ' || n, dispatch_test.id(2),
    dispatch_test.id(3)
)
from generate_series(1, 7) as n;
insert into dispatch.issue (
    workspace_id, id, number, title, status, priority, creator_type, created_at, updated_at
)
select
    dispatch_test.id(1), dispatch_test.id(100 + n), n, 'issue', 'todo', 'none', 'system',
    dispatch.clock(), dispatch.clock()
from generate_series(1, 3) as n;

-- A wake that every gate would refuse; what is mended below is mended in the order of gates.
select dispatch.put_workspace(
    dispatch_test.id(1), 'Works', p_attribution_policy => 'fail_closed'
);
create function pg_temp.ask(p_originator integer default null, p_agent integer default 1)
returns text
language sql
as $fn$
    select d.outcome || ' ' || d.reason_code
    from dispatch.queue_wake(
        dispatch_test.id(1), dispatch_test.id(10 + p_agent), 'task_assigned',
        jsonb_build_object('actor_type', 'agent', 'task_id', dispatch_test.id(101)),
        'taken', dispatch_test.id(101), p_originator_id => dispatch_test.id(p_originator)
    ) as d;
$fn$;
create function pg_temp.fill(p_agent integer, p_key text) returns void
language sql
as $fn$
    select dispatch.queue_wake(
        dispatch_test.id(1), dispatch_test.id(10 + p_agent), 'task_assigned',
        jsonb_build_object('actor_type', 'agent', 'task_id', dispatch_test.id(101)), p_key,
        p_originator_id => dispatch_test.id(2)
    );
$fn$;
select pg_temp.fill(1, 'own');
update dispatch.run_detail as d
set requested_at = dispatch.clock() - interval '1 hour'
where true;
select pg_temp.fill(2, 'taken');
select pg_temp.fill(n, null) from generate_series(3, 6) as n;
select dispatch.pause_workspace(dispatch_test.id(1), 'system', p_reason => 'halt');
select dispatch.put_agent(
    dispatch_test.id(1), dispatch_test.id(30), 'unbound', dispatch_test.id(2)
);

select is(
    pg_temp.ask(null, 89), 'blocked invocation_not_allowed', 'gate 1: an unknown agent'
);
select is(pg_temp.ask(null, 20), 'blocked agent_runtime_required', 'gate 1: an unbound one');
select dispatch.set_runtime_offline(
    dispatch_test.id(1), dispatch_test.id(3), 'not_executable'
);
select dispatch.set_agent_status(dispatch_test.id(1), dispatch_test.id(11), 'paused');
select is(pg_temp.ask(), 'blocked runtime_unusable', 'gate 1: a runtime that cannot execute');
select dispatch.heartbeat(dispatch_test.id(1), array[dispatch_test.id(3)]);
select is(
    pg_temp.ask(), 'blocked agent_not_runnable', 'T38, gate 1: an agent that is not active'
);
select dispatch.set_agent_status(dispatch_test.id(1), dispatch_test.id(11), 'active');
select is(pg_temp.ask(), 'blocked attribution_blocked', 'gate 2: nobody answers');
select is(pg_temp.ask(2), 'blocked paused', 'T37, gate 3: the workspace is paused');
select is(
    (
        select string_agg(distinct e.reason, ' ' order by e.reason)
        from dispatch.gate_event as e
    ),
    'agent_not_runnable agent_runtime_required attribution_blocked invocation_not_allowed '
    'paused runtime_unusable',
    'T37: a gate that was not reached counts nothing'
);
select dispatch.resume_workspace(dispatch_test.id(1), 'system');
select is(pg_temp.ask(2), 'deduplicated duplicate_recent', 'gate 4: the key is a day old');
update dispatch.run_detail as d
set requested_at = dispatch.clock() - interval '2 days'
where d.idempotency_key = 'taken';
update dispatch.run_detail as d
set requested_at = dispatch.clock()
where d.idempotency_key = 'own';
update dispatch.run as r set requested_at = dispatch.clock() where true;
select is(pg_temp.ask(2), 'coalesced coalesced', 'gate 5: the run is young enough to merge');
update dispatch.run as r set requested_at = dispatch.clock() - interval '5 s' where true;
select is(pg_temp.ask(2), 'absorbed already_active', 'gate 6: the slot is taken');
select dispatch.cancel_run(dispatch_test.id(1), r.id, 'system')
from dispatch.run as r
where r.agent_id = dispatch_test.id(11);
select is(
    pg_temp.ask(2), 'rate_limited allowance_exhausted', 'gate 7: the allowance is exhausted'
);
update dispatch.run_detail as d
set requested_at = dispatch.clock() - dispatch.allowance_window()
where d.idempotency_key is null;
select is(pg_temp.ask(2), 'deduplicated duplicate_key', 'gate 8: the key is taken for good');
delete from dispatch.run_detail as d where d.idempotency_key = 'taken';
select is(pg_temp.ask(2), 'queued queued', 'no gate is left');

select * from finish();
rollback;

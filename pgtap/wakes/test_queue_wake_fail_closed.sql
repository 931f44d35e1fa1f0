begin;
select plan(9);

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
from generate_series(1, 4) as n;

select dispatch.put_workspace(
    dispatch_test.id(1), 'Works', p_attribution_policy => 'fail_closed'
);

create function pg_temp.ask(
    p_issue integer,
    p_actor_type text default 'system',
    p_actor_id uuid default null,
    p_originator_id uuid default null
)
returns text
language sql
as $fn$
    select concat_ws(' ', d.outcome, d.reason_code)
    from dispatch.queue_wake(
        dispatch_test.id(1), dispatch_test.id(4), 'mention',
        p_issue_id => dispatch_test.id(100 + p_issue), p_originator_id => p_originator_id,
        p_actor_type => p_actor_type, p_actor_id => p_actor_id
    ) as d;
$fn$;

select is(
    pg_temp.ask(1), 'blocked attribution_blocked',
    'T2: a wake for which nobody answers is refused'
);
select is(
    pg_temp.ask(1, 'user'), 'blocked attribution_blocked', 'T2: so is one of an unnamed user'
);
select is(
    pg_temp.ask(1, 'agent', dispatch_test.id(4)),
    'blocked attribution_blocked',
    'T2: so is one of an agent outside of a run'
);
select is((select count(*) from dispatch.run), 0::bigint, 'T2: no row is written');
select is(
    pg_temp.ask(1, 'user', dispatch_test.id(2)), 'queued queued', 'T2: a precise wake runs'
);
select is(
    pg_temp.ask(1), 'blocked attribution_blocked',
    'attribution is judged before the pending slot'
);
select is(
    pg_temp.ask(2, p_originator_id => dispatch_test.id(2)),
    'queued queued',
    'T2: the system may name for whom it acts'
);
select dispatch.set_agent_status(dispatch_test.id(1), dispatch_test.id(4), 'paused');
select is(
    pg_temp.ask(3), 'blocked agent_not_runnable', 'the agent is judged before attribution'
);
select dispatch.set_agent_status(dispatch_test.id(1), dispatch_test.id(4), 'active');
select dispatch.put_workspace(
    dispatch_test.id(1), 'Works', p_attribution_policy => 'owner_fallback'
);
select dispatch.remove_member(dispatch_test.id(1), dispatch_test.id(2));
select is(
    pg_temp.ask(4), 'blocked attribution_blocked',
    'T2: no fallback without an owner, whatever the policy'
);

select * from finish();
rollback;

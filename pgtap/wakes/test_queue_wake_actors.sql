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
select dispatch.put_agent(
    dispatch_test.id(1), dispatch_test.id(5), 'beta', dispatch_test.id(2), dispatch_test.id(3)
);
insert into dispatch.issue (
    workspace_id, id, number, title, status, priority, creator_type, created_at, updated_at
)
select
    dispatch_test.id(1), dispatch_test.id(100 + n), n, 'issue', 'todo', 'none', 'system',
    dispatch.clock(), dispatch.clock()
from generate_series(1, 2) as n;

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

select dispatch.put_workspace(dispatch_test.id(7), 'Elsewhere');
select dispatch.put_member(dispatch_test.id(7), dispatch_test.id(9), 'Ben');
select pg_temp.wake(1);

create function pg_temp.refusal(
    p_actor_type text,
    p_actor_id uuid default null,
    p_acting_run_id uuid default null,
    p_originator_id uuid default null
)
returns text
language sql
as $fn$
    select dispatch_test.error_of(format(
        'select dispatch.queue_wake(
            dispatch_test.id(1), dispatch_test.id(4), %L, p_issue_id => dispatch_test.id(102),
            p_actor_type => %L, p_actor_id => %L, p_acting_run_id => %L, p_originator_id => %L
        )',
        'mention', p_actor_type, p_actor_id, p_acting_run_id, p_originator_id
    ));
$fn$;

select is(
    pg_temp.refusal('user', dispatch_test.id(9)),
    'PD403 p_actor_id',
    'a member of another workspace is no actor'
);
select is(
    pg_temp.refusal('user', dispatch_test.id(99)), 'PD403 p_actor_id', 'nor is an unknown human'
);
select is(
    pg_temp.refusal('system', p_originator_id => dispatch_test.id(9)),
    'PD400 p_originator_id',
    'an originator must be a member'
);
select is(
    pg_temp.refusal('user', dispatch_test.id(2), null, dispatch_test.id(2)),
    'PD400 p_originator_id',
    'a user is its own originator and names none'
);
select is(
    pg_temp.refusal('agent', dispatch_test.id(4), null, dispatch_test.id(2)),
    'PD400 p_originator_id',
    'an agent cannot choose an originator'
);
select is(pg_temp.refusal('agent'), 'PD400 p_actor_id', 'an agent must be named');
select is(
    pg_temp.refusal('agent', dispatch_test.id(4), dispatch_test.id(999)),
    'PD403 p_acting_run_id attribution_blocked',
    'an unknown acting run is refused'
);
select is(
    pg_temp.refusal('agent', dispatch_test.id(4), (select r.id from dispatch.run as r)),
    'PD403 p_acting_run_id attribution_blocked',
    'a queued run is no acting run'
);
select count(*) from dispatch.claim_run(dispatch_test.id(1), dispatch_test.id(4));
select is(
    pg_temp.refusal('agent', dispatch_test.id(5), (select r.id from dispatch.run as r)),
    'PD403 p_acting_run_id attribution_blocked',
    'nor is the run of another agent'
);
select dispatch.cancel_run(dispatch_test.id(1), (select r.id from dispatch.run as r), 'system');
select is(
    pg_temp.refusal('agent', dispatch_test.id(4), (select r.id from dispatch.run as r)),
    'PD403 p_acting_run_id attribution_blocked',
    'nor is a run that has ended'
);
select is(
    (
        select count(*) from dispatch.run as r where r.issue_id = dispatch_test.id(102)
    ),
    0::bigint,
    'what was refused wrote nothing'
);

select * from finish();
rollback;

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
create function pg_temp.claimed()
returns text
language sql
as $fn$
    select concat_ws(
        ' ',
        (select count(*) from dispatch.claim_run(dispatch_test.id(1), dispatch_test.id(4))),
        (
            select count(*)
            from dispatch.claim_runs(dispatch_test.id(1), array[dispatch_test.id(3)])
        )
    );
$fn$;

select dispatch.set_agent_status(dispatch_test.id(1), dispatch_test.id(4), 'paused');
select is(pg_temp.claimed(), '0 0', 'R17: nothing of a paused agent is claimed');
select dispatch.set_agent_status(dispatch_test.id(1), dispatch_test.id(4), 'stopped');
select is(pg_temp.claimed(), '0 0', 'nor of a stopped one');
select dispatch.set_agent_status(dispatch_test.id(1), dispatch_test.id(4), 'pending_approval');
select is(pg_temp.claimed(), '0 0', 'nor of one that was not approved');
select dispatch.set_agent_status(dispatch_test.id(1), dispatch_test.id(4), 'active');
insert into dispatch.workspace_pause (
    workspace_id, id, reason, paused_at, paused_by_type
)
values (dispatch_test.id(1), dispatch_test.id(90), 'stop', dispatch.clock(), 'system');
select is(pg_temp.claimed(), '0 0', 'R17: nor in a paused workspace');
update dispatch.workspace_pause as p
set released_at = dispatch.clock(), released_by_type = 'system';
select is(
    (select count(*) from dispatch.claim_run(dispatch_test.id(1), dispatch_test.id(99))),
    0::bigint,
    'an unknown agent is no rows'
);
select is(
    (
        select count(*)
        from dispatch.claim_run(
            dispatch_test.id(1), dispatch_test.id(99), dispatch_test.id(3)
        )
    ),
    0::bigint,
    'on a known runtime too'
);
select is(
    (select count(*) from dispatch.claim_run(dispatch_test.id(7), dispatch_test.id(4))),
    0::bigint,
    'in another workspace the agent is unknown'
);
select is(
    (select v.status || ' ' || v.claim_no from dispatch.runs as v), 'queued 0',
    'R17: all that left the run as it was'
);
select matches(pg_temp.claimed(), '1', 'R17: it is claimed afterwards, once');
select is(
    concat_ws(
        ', ',
        dispatch_test.error_of('select dispatch.claim_run(null, dispatch_test.id(4))'),
        dispatch_test.error_of('select dispatch.claim_run(dispatch_test.id(1), null)'),
        dispatch_test.error_of(
            $$
            select dispatch.claim_run(
                dispatch_test.id(1), '00000000-0000-0000-0000-000000000000'
            )
            $$
        ),
        dispatch_test.error_of(
            $$
            select dispatch.claim_run(
                dispatch_test.id(1), dispatch_test.id(4), '00000000-0000-0000-0000-000000000000'
            )
            $$
        )
    ),
    'PD400 p_workspace_id, PD400 p_agent_id, PD400 p_agent_id, PD400 p_runtime_id',
    'workspace and agent are required'
);

select * from finish();
rollback;

begin;
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

set local timezone = 'Pacific/Kiritimati';
set local intervalstyle = 'iso_8601';
set local datestyle = 'German, DMY';
set local bytea_output = 'escape';
create temp table run on commit drop as select pg_temp.wake(1) as id;

select is(
    (select v.requested_at at time zone 'UTC' from dispatch.runs as v),
    '2030-01-15 12:00:00'::timestamp,
    'R29: the session''s time zone changes no instant'
);
select results_eq(
    $$
    select c.lease_expires_at - c.dispatched_at, c.triggers -> 0 ->> 'at'
    from dispatch.claim_run(dispatch_test.id(1), dispatch_test.id(4)) as c
    $$,
    $$values (interval '45 seconds', '2030-01-15T12:00:00.000000Z')$$,
    'R29: nor does any other setting'
);
select is(
    (
        select string_agg(t.status::text, ' ')
        from dispatch.start_runs(
            dispatch_test.id(1),
            (
                select jsonb_build_array(
                    jsonb_build_object('run_id', r.id, 'claim_no', 1, 'lease', '00:01:00')
                )
                from run as r
            )
        ) as t
    ),
    'running',
    'R29: a batch is read in the same way'
);
select is(
    (select v.lease_expires_at - v.started_at from dispatch.runs as v), interval '1 minute',
    'R29: with the same leases'
);
select is(
    (
        select d.outcome::text
        from dispatch.queue_wakes(
            dispatch_test.id(1),
            jsonb_build_array(jsonb_build_object(
                'agent_id', dispatch_test.id(4), 'reason', 'later',
                'fire_at', '2030-02-03T04:05:06Z'
            ))
        ) as d
    ),
    'deferred',
    'R29: a batch may name an instant'
);
select is(
    (select v.fire_at from dispatch.runs as v where v.reason = 'later'),
    make_timestamptz(2030, 2, 3, 4, 5, 6, 'UTC'),
    'R29: which is read as ISO 8601 writes it'
);

select * from finish();
rollback;

begin;
select plan(14);
create function pg_temp.id(p_number integer) returns uuid language sql as $fn$
select dispatch_test.id(p_number);
$fn$;
select dispatch_test.set_clock('2030-01-15 12:00:00+00');
select dispatch.put_workspace(pg_temp.id(1), 'Acme');
select dispatch.put_workspace(pg_temp.id(2), 'Other');
select dispatch.put_member(pg_temp.id(1), pg_temp.id(11), 'Ada');
select dispatch.put_runtime(pg_temp.id(1), pg_temp.id(21), 'mac');
select dispatch.put_runtime(pg_temp.id(1), pg_temp.id(22), 'mini');
select dispatch.put_runtime(pg_temp.id(2), pg_temp.id(29), 'foreign');
select dispatch.heartbeat(pg_temp.id(1), array[pg_temp.id(21), pg_temp.id(22)]);
select dispatch.put_agent(
    pg_temp.id(1), pg_temp.id(31), 'Rex', pg_temp.id(11), pg_temp.id(21)
);
select dispatch.put_agent(
    pg_temp.id(1), pg_temp.id(32), 'Other', pg_temp.id(11), pg_temp.id(21)
);

-- Runs of the agent in every status that has not ended, and one that has; one of another agent.
select dispatch.queue_wake(pg_temp.id(1), pg_temp.id(31), 'done');
select dispatch.claim_runs(pg_temp.id(1), array[pg_temp.id(21)], 1, 1, true);
select dispatch.complete_run(pg_temp.id(1), r.id, r.claim_no) from dispatch.runs as r;
select dispatch.create_issue(
    pg_temp.id(1), 'issue ' || n, 'system', p_issue_id => pg_temp.id(50 + n)
)
from generate_series(1, 4) as n;
select dispatch.queue_wake(
    pg_temp.id(1), pg_temp.id(31), 'waiting', p_issue_id => pg_temp.id(51)
);
select dispatch.claim_run(pg_temp.id(1), pg_temp.id(31));
select dispatch.wait_run(pg_temp.id(1), r.id, r.claim_no, 'busy')
from dispatch.runs as r where r.reason = 'waiting';
select dispatch.queue_wake(
    pg_temp.id(1), pg_temp.id(31), 'running', p_issue_id => pg_temp.id(52)
);
select dispatch.claim_runs(pg_temp.id(1), array[pg_temp.id(21)], 1, 1, true);
select dispatch.queue_wake(
    pg_temp.id(1), pg_temp.id(31), 'dispatched', p_issue_id => pg_temp.id(53)
);
select dispatch.claim_run(pg_temp.id(1), pg_temp.id(31));
select dispatch.queue_wake(
    pg_temp.id(1), pg_temp.id(31), 'queued', p_issue_id => pg_temp.id(54)
);
select dispatch.queue_wake(
    pg_temp.id(1), pg_temp.id(31), 'deferred',
    p_fire_at => dispatch.clock() + interval '1 hour'
);
select dispatch.queue_wake(pg_temp.id(1), pg_temp.id(32), 'foreign');

create function pg_temp.where_run() returns text language sql as $fn$
select string_agg(
    format(
        '%s %s %s', r.reason, r.status,
        case r.runtime_id when pg_temp.id(21) then 'mac' when pg_temp.id(22) then 'mini' end
    ), ', ' order by r.reason
)
from dispatch.runs as r;
$fn$;
select is(
    pg_temp.where_run(),
    'deferred deferred mac, dispatched dispatched mac, done completed mac, '
    'foreign queued mac, queued queued mac, running running mac, '
    'waiting waiting_local_directory mac',
    'there is a run in every status'
);

select dispatch.bind_agent(pg_temp.id(1), pg_temp.id(31), pg_temp.id(22));
select is(
    pg_temp.where_run(),
    'deferred deferred mini, dispatched dispatched mac, done completed mac, '
    'foreign queued mac, queued queued mini, running running mac, '
    'waiting waiting_local_directory mac',
    'its queued and deferred runs move along, no other'
);
select is(
    (select a.runtime_id from dispatch.agent as a where a.id = pg_temp.id(31)),
    pg_temp.id(22), 'the agent is bound'
);
create temporary table seen as
select a.ctid as place from dispatch.agent as a where a.id = pg_temp.id(31);
select dispatch.bind_agent(pg_temp.id(1), pg_temp.id(31), pg_temp.id(22));
select is(
    (select a.ctid from dispatch.agent as a where a.id = pg_temp.id(31)),
    (select s.place from seen as s), 'repeating it writes nothing'
);

select dispatch.bind_agent(pg_temp.id(1), pg_temp.id(31), null);
select is(
    (select a.runtime_id from dispatch.agent as a where a.id = pg_temp.id(31)), null,
    'NULL unbinds'
);
select is(
    pg_temp.where_run(),
    'deferred deferred mini, dispatched dispatched mac, done completed mac, '
    'foreign queued mac, queued queued mini, running running mac, '
    'waiting waiting_local_directory mac',
    'and leaves the runs where they were'
);
select dispatch.put_agent(
    pg_temp.id(1), pg_temp.id(31), 'Rex', pg_temp.id(11), pg_temp.id(21)
);
select is(
    pg_temp.where_run(),
    'deferred deferred mac, dispatched dispatched mac, done completed mac, '
    'foreign queued mac, queued queued mac, running running mac, '
    'waiting waiting_local_directory mac',
    'put_agent with another runtime moves them like bind_agent'
);

select is(dispatch_test.error_of(t.call), t.error, t.what)
from (
    values
        (
            $$select dispatch.bind_agent(pg_temp.id(9), pg_temp.id(31), null)$$,
            'PD404 p_workspace_id', 'an unknown workspace'
        ),
        (
            $$select dispatch.bind_agent(pg_temp.id(1), pg_temp.id(39), null)$$,
            'PD404 p_agent_id', 'an unknown agent'
        ),
        (
            $$select dispatch.bind_agent(pg_temp.id(2), pg_temp.id(31), null)$$,
            'PD404 p_agent_id', 'an agent of another workspace'
        ),
        (
            $$select dispatch.bind_agent(pg_temp.id(1), null, null)$$,
            'PD400 p_agent_id', 'no agent'
        ),
        (
            $$select dispatch.bind_agent(pg_temp.id(1), pg_temp.id(31), pg_temp.id(29))$$,
            'PD404 p_runtime_id', 'a runtime of another workspace'
        ),
        (
            $$select dispatch.bind_agent(
                pg_temp.id(1), pg_temp.id(31), '00000000-0000-0000-0000-000000000000'
            )$$,
            'PD400 p_runtime_id', 'the all-zero runtime'
        )
) as t (call, error, what);
select dispatch.archive_agent(pg_temp.id(1), pg_temp.id(32));
select is(
    dispatch_test.error_of(
        $$select dispatch.bind_agent(pg_temp.id(1), pg_temp.id(32), pg_temp.id(22))$$
    ),
    'PD409 p_agent_id', 'an archived agent is not bound'
);

select * from finish();
rollback;

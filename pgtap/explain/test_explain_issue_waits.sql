begin;
select plan(27);
select dispatch_test.set_clock('2030-01-15 12:00:00+00');

-- Workspace 1 with member 11, runtime 21 and agents 31 (one run at once) and 32.
select dispatch.put_workspace(dispatch_test.id(1), 'Board', 'ABC');
select dispatch.put_member(dispatch_test.id(1), dispatch_test.id(11), 'Owner');
select dispatch.put_runtime(dispatch_test.id(1), dispatch_test.id(21), 'daemon');
select dispatch.heartbeat(dispatch_test.id(1), array[dispatch_test.id(21)]);
select dispatch.put_agent(
    dispatch_test.id(1), dispatch_test.id(a), 'Agent', dispatch_test.id(11),
    dispatch_test.id(21), p_max_concurrent_runs => 1
)
from generate_series(31, 32) as a;

-- The steps that are not ok, each with its code and what its detail says.
create function pg_temp.explain(p_issue integer) returns text
language sql
as $fn$
select string_agg(
    concat_ws(
        ' ', e.step || ':', e.reason_code, e.detail ->> 'why', e.detail ->> 'place',
        e.detail ->> 'status'
    ),
    ', ' order by e.ordinality
) filter (where not e.ok)
from dispatch.explain_issue(dispatch_test.id(1), dispatch_test.id(p_issue)) with ordinality as e;
$fn$;
create function pg_temp.start(p_agent integer) returns uuid
language sql
as $fn$
select c.run_id
from dispatch.claim_run(dispatch_test.id(1), dispatch_test.id(p_agent)) as c
cross join lateral dispatch.start_run(dispatch_test.id(1), c.run_id, c.claim_no);
$fn$;

select dispatch.create_issue(
    dispatch_test.id(1), 'Explained', 'user', dispatch_test.id(11), p_status => i.status,
    p_assignee_type => i.kind, p_assignee_id => dispatch_test.id(i.assignee),
    p_issue_id => dispatch_test.id(i.number)
)
from (
    values
        (100, 'todo', 'agent', 31), (101, 'todo', null, null), (102, 'todo', 'member', 11),
        (103, 'backlog', 'agent', 31), (104, 'todo', 'agent', 31), (105, 'done', 'agent', 32)
) as i (number, status, kind, assignee);

select is(
    (
        select string_agg(e.step, ' ' order by e.ordinality)
        from dispatch.explain_issue(dispatch_test.id(1), dispatch_test.id(i))
        with ordinality as e
    ),
    'assignee status target agent attribution pause duplicate coalesce pending_slot allowance '
    'insert runtime capacity lane queue',
    'the steps in their order, issue ' || i
)
from generate_series(100, 101) as i;
select is(pg_temp.explain(100), null, 'first in the queue: nothing is in the way');
select is(
    pg_temp.explain(101), 'assignee: not_triggered no_assignee, queue: not_triggered',
    'nobody is assigned'
);
select is(
    (
        select string_agg(e.step, ' ' order by e.ordinality)
        from dispatch.explain_issue(dispatch_test.id(1), dispatch_test.id(101))
        with ordinality as e
        where e.ok is null
    ),
    'target agent attribution duplicate coalesce pending_slot allowance insert runtime '
    'capacity lane',
    'then only what has no need of an agent is looked at'
);
select is(
    pg_temp.explain(102), 'assignee: not_triggered member_assignee, queue: not_triggered',
    'a person is'
);
select is(
    pg_temp.explain(103),
    'status: not_triggered parked_in_backlog backlog, queue: not_triggered', 'in backlog'
);
select is(
    pg_temp.explain(104), 'queue: 2 queued', 'behind an earlier run of the agent'
);
select is(
    pg_temp.explain(105), null, 'closed, but its assignment has queued a run'
);

select ok(pg_temp.start(31) is not null, 'the first run starts');
select is(pg_temp.explain(100), null, 'a run that is running has nothing in its way');
select is(
    pg_temp.explain(104), 'capacity:', 'the second waits for the agent to be free'
);
select dispatch.put_agent(
    dispatch_test.id(1), dispatch_test.id(31), 'Agent', dispatch_test.id(11),
    p_max_concurrent_runs => 2
);
select is(pg_temp.explain(104), null, 'with room for two it may start');
select dispatch.update_issue(
    dispatch_test.id(1), dispatch_test.id(100),
    jsonb_build_object(
        'assignee', jsonb_build_object('type', 'agent', 'id', dispatch_test.id(31))
    ),
    'user', dispatch_test.id(11)
);
select is(
    (
        select concat_ws(
            ' ', (
                select r.status
                from dispatch.run as r
                where r.id = (e.detail ->> 'run_id')::uuid
            )
        )
        from dispatch.explain_issue(dispatch_test.id(1), dispatch_test.id(100)) as e
        where e.step = 'queue'
    ),
    'running', 'of two runs of a pair the active one is explained'
);

select dispatch.set_agent_status(dispatch_test.id(1), dispatch_test.id(31), 'paused');
select is(pg_temp.explain(104), 'agent: agent_not_runnable', 'an agent that is paused');
select dispatch.set_agent_status(dispatch_test.id(1), dispatch_test.id(31), 'active');
select dispatch.pause_workspace(
    dispatch_test.id(1), 'user', dispatch_test.id(11), p_reason => 'Stop'
);
select is(pg_temp.explain(104), 'pause: paused', 'a paused workspace');
select is(
    pg_temp.explain(101),
    'assignee: not_triggered no_assignee, pause: paused, queue: not_triggered',
    'a pause is told for an issue without an assignee as well'
);
select dispatch.resume_workspace(dispatch_test.id(1), 'user', dispatch_test.id(11));
select dispatch.set_runtime_offline(dispatch_test.id(1), dispatch_test.id(21));
select is(
    pg_temp.explain(104), 'runtime: runtime_offline offline', 'a runtime that is offline'
);
select dispatch.heartbeat(dispatch_test.id(1), array[dispatch_test.id(21)]);
select dispatch_test.advance_clock(dispatch.runtime_freshness());
select is(pg_temp.explain(104), null, 'a runtime seen just within its freshness');
select dispatch_test.advance_clock('1 microsecond');
select is(
    pg_temp.explain(104), 'runtime: runtime_offline online', 'and just past it'
);
select dispatch.set_runtime_offline(
    dispatch_test.id(1), dispatch_test.id(21), 'not_executable'
);
select is(
    pg_temp.explain(104),
    'runtime: runtime_unusable offline', 'a runtime that cannot execute'
);
select dispatch.heartbeat(dispatch_test.id(1), array[dispatch_test.id(21)]);

select dispatch.cancel_run(
    dispatch_test.id(1),
    (select r.id from dispatch.run as r where r.issue_id = dispatch_test.id(104)), 'system'
);
select is(
    pg_temp.explain(104), 'duplicate: duplicate_recent, queue: not_triggered cancelled',
    'the assignment has had its run'
);
select dispatch_test.advance_clock(dispatch.duplicate_window());
select dispatch.heartbeat(dispatch_test.id(1), array[dispatch_test.id(21)]);
select is(
    pg_temp.explain(104), 'insert: duplicate_key, queue: not_triggered cancelled',
    'as it has a day later'
);
select dispatch.update_issue(
    dispatch_test.id(1), dispatch_test.id(104), '{"status": "done"}', 'system'
);
select is(
    pg_temp.explain(104),
    'status: not_triggered closed done, insert: duplicate_key, '
    'queue: not_triggered cancelled', 'closed, and nothing stands'
);
select is(dispatch_test.error_of(t.call), t.error, t.what)
from (
    values
        (
            1,
            $$select e.ok
            from dispatch.explain_issue(dispatch_test.id(1), dispatch_test.id(7)) as e$$,
            'PD404 p_issue_id', 'an unknown issue'
        ),
        (
            2, $$select e.ok from dispatch.explain_issue(dispatch_test.id(1), null) as e$$,
            'PD400 p_issue_id', 'no issue'
        ),
        (
            3,
            $$select e.ok
            from dispatch.explain_issue(dispatch_test.id(2), dispatch_test.id(100)) as e$$,
            'PD404 p_workspace_id', 'an unknown workspace'
        )
) as t (n, call, error, what)
order by t.n;

select * from finish();
rollback;

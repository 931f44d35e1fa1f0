begin;
select plan(13);
select dispatch_test.set_clock('2030-01-15 12:00:00+00');

-- Workspace 1 with members 11 and 12, runtime 21, and 11's private agents 31 and 32.
select dispatch.put_workspace(dispatch_test.id(1), 'Board', 'ABC');
select dispatch.put_member(dispatch_test.id(1), dispatch_test.id(11), 'Owner');
select dispatch.put_member(dispatch_test.id(1), dispatch_test.id(12), 'Other');
select dispatch.put_runtime(dispatch_test.id(1), dispatch_test.id(21), 'daemon');
select dispatch.heartbeat(dispatch_test.id(1), array[dispatch_test.id(21)]);
select dispatch.put_agent(
    dispatch_test.id(1), dispatch_test.id(a), 'Agent', dispatch_test.id(11),
    dispatch_test.id(21)
)
from generate_series(31, 32) as a;

-- Writes changes to an issue and tells what became of the wake.
create function pg_temp.change(
    p_issue integer,
    p_changes jsonb,
    p_suppress boolean default false,
    p_actor_type text default 'user',
    p_actor integer default 11,
    p_acting_run integer default null
)
returns text
language sql
as $change$
select concat_ws(
    ' ', u.identifier, u.assignment_generation, u.outcome, u.reason_code,
    right(u.agent_id::text, 2), u.source, u.detail ->> 'why'
)
from dispatch.update_issue(
    dispatch_test.id(1), dispatch_test.id(p_issue), p_changes, p_actor_type,
    dispatch_test.id(p_actor), dispatch_test.id(p_acting_run), 'Handed over.', p_suppress
) as u;
$change$;

create function pg_temp.assign(p_id integer, p_type text default 'agent')
returns jsonb
language sql
as $assign$
select jsonb_build_object(
    'assignee', jsonb_build_object('type', p_type, 'id', dispatch_test.id(p_id))
);
$assign$;

select dispatch.create_issue(
    dispatch_test.id(1), 'Written', 'user', dispatch_test.id(11), p_status => i.status,
    p_issue_id => dispatch_test.id(i.number)
)
from (
    values (100, 'backlog'), (101, 'todo'), (102, 'todo'), (103, 'todo')
) as i (number, status);

-- A wake from elsewhere stands for issue 100 and agent 31.
select dispatch.update_issue(
    dispatch_test.id(1), dispatch_test.id(100), pg_temp.assign(31), 'user', dispatch_test.id(11)
);
select dispatch.queue_wake(
    dispatch_test.id(1), dispatch_test.id(31), 'task_mentioned',
    p_issue_id => dispatch_test.id(100)
);
select is(
    pg_temp.change(100, '{"status": "todo"}'), 'ABC-1 1 none not_triggered already_pending',
    'promoted while a run is pending: nothing more'
);
select is(
    pg_temp.change(100, pg_temp.assign(31)), 'ABC-1 2 absorbed already_active 31 assign',
    'assigned while a run is pending: absorbed by it'
);
select is(
    (select count(*) from dispatch.run as r where r.issue_id = dispatch_test.id(100)),
    1::bigint, 'no second run is made'
);
select is(
    (
        select count(*)
        from dispatch.run_trigger as t
        where t.idempotency_key like 'task_assigned:%:2'
    ),
    1::bigint, 'the assignment is recorded on the run'
);

select dispatch.update_issue(
    dispatch_test.id(1), dispatch_test.id(i), pg_temp.assign(31), 'user', dispatch_test.id(11)
)
from generate_series(101, 102) as i;
update dispatch.run as r
set status = case r.issue_id
    when dispatch_test.id(101) then 'running' else 'waiting_local_directory'
end::dispatch.run_status
where r.issue_id in (dispatch_test.id(101), dispatch_test.id(102));
select is(
    pg_temp.change(101, pg_temp.assign(31)), 'ABC-2 2 queued queued 31 assign',
    'assigned while a run is running: a second one is queued'
);
select is(
    pg_temp.change(102, pg_temp.assign(31)), 'ABC-3 2 queued queued 31 assign',
    'and while one waits'
);
select is(
    pg_temp.change(101, pg_temp.assign(32)), 'ABC-2 3 queued queued 32 assign',
    'assigned to another agent: that one starts'
);
select is(
    (
        select string_agg(
            concat_ws(' ', right(r.agent_id::text, 2), r.status), ', ' order by r.id
        )
        from dispatch.run as r
        where r.issue_id = dispatch_test.id(101)
    ),
    '31 running, 31 queued, 32 queued', 'and the runs of the former assignee go on'
);
select is(
    pg_temp.change(101, '{"status": "cancelled"}'),
    'ABC-2 3 none not_triggered not_a_start_signal', 'cancelling an issue starts nothing'
);
select is(
    (
        select string_agg(r.status::text, ', ' order by r.id)
        from dispatch.run as r
        where r.issue_id = dispatch_test.id(101)
    ),
    'running, queued, queued', 'and ends nothing'
);

-- What admission refuses is an answer, and the write stands.
select dispatch.set_agent_status(dispatch_test.id(1), dispatch_test.id(32), 'paused');
select is(
    pg_temp.change(103, pg_temp.assign(32)), 'ABC-4 1 blocked agent_not_runnable 32 assign',
    'a paused agent is not woken'
);
select is(
    (
        select right(i.assignee_id::text, 2)
        from dispatch.issue as i
        where i.id = dispatch_test.id(103)
    ),
    '32', 'and yet has the issue'
);
select dispatch.put_workspace(
    dispatch_test.id(1), 'Board', p_attribution_policy => 'fail_closed'
);
select dispatch.put_agent(
    dispatch_test.id(1), dispatch_test.id(33), 'Open', dispatch_test.id(11),
    dispatch_test.id(21), 'public_to'
);
select dispatch.grant_invoke(dispatch_test.id(1), dispatch_test.id(33), 'workspace');
select is(
    pg_temp.change(103, pg_temp.assign(33), p_actor_type => 'system', p_actor => null),
    'ABC-4 2 blocked attribution_blocked 33 assign', 'nobody answers for the run: not woken'
);

select * from finish();
rollback;

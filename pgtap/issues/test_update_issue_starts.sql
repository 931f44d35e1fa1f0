begin;
select plan(14);
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
    values (100, 'todo'), (101, 'backlog'), (102, 'backlog'), (103, 'todo')
) as i (number, status);

select is(
    pg_temp.change(100, pg_temp.assign(31)), 'ABC-1 1 queued queued 31 assign',
    'assigned: its run starts'
);
select is(
    (
        select concat_ws(' ', d.reason, d.source, d.payload ->> 'actor_type',
            right(d.payload ->> 'actor_id', 2), right(d.payload ->> 'task_id', 3),
            d.evidence_kind, d.handoff_note)
        from dispatch.run_detail as d
        where d.issue_id = dispatch_test.id(100)
    ),
    'task_assigned assign user 11 100 issue_assignment Handed over.', 'with its reason and note'
);
select is(
    pg_temp.change(100, '{"status": "in_progress"}'),
    'ABC-1 1 none not_triggered not_a_start_signal', 'from todo to in_progress: nothing'
);
select is(
    pg_temp.change(101, pg_temp.assign(31)), 'ABC-2 1 none not_triggered parked_in_backlog',
    'assigned in backlog: nothing'
);
select is(
    pg_temp.change(101, '{"status": "todo", "priority": "high"}'),
    'ABC-2 1 queued queued 31 status', 'promoted out of backlog: its run starts'
);
select is(
    (
        select concat_ws(' ', d.reason, d.source, d.idempotency_key, r.priority,
            d.evidence_kind, right(d.evidence_id::text, 3))
        from dispatch.run as r
        inner join dispatch.run_detail as d on d.run_id = r.id
        where r.issue_id = dispatch_test.id(101)
    ),
    'task_promoted status 3 issue_assignment 101', 'without a key, at the new priority'
);
select is(
    (select d.payload from dispatch.run_detail as d where d.issue_id = dispatch_test.id(101)),
    jsonb_build_object('task_id', dispatch_test.id(101)), 'and its payload names nobody'
);
select is(
    pg_temp.change(102, pg_temp.assign(31) || '{"status": "todo"}'),
    'ABC-3 1 queued queued 31 assign', 'assigned and promoted in one write: an assignment'
);
select is(
    (select count(*) from dispatch.run as r where r.issue_id = dispatch_test.id(102)),
    1::bigint, 'that is one run'
);
select is(
    pg_temp.change(103, pg_temp.assign(31), true), 'ABC-4 1 none not_triggered suppressed',
    'suppressed: nothing starts'
);
select is(
    (
        select concat_ws(' ', i.assignee_type, right(i.assignee_id::text, 2), (
            select count(*) from dispatch.run as r where r.issue_id = i.id
        ))
        from dispatch.issue as i
        where i.id = dispatch_test.id(103)
    ),
    'agent 31 0', 'and yet the issue is assigned'
);
select is(
    pg_temp.change(103, pg_temp.assign(12, 'member')),
    'ABC-4 2 none not_triggered member_assignee', 'assigned to a member: nothing'
);
select is(
    pg_temp.change(103, '{"status": "cancelled"}'),
    'ABC-4 2 none not_triggered member_assignee', 'nor when it is closed'
);
select is(
    pg_temp.change(103, pg_temp.assign(32)), 'ABC-4 3 queued queued 32 assign',
    'assigned when cancelled: its run starts'
);

select * from finish();
rollback;

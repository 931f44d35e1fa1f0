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

select is(
    (
        select concat_ws(' ', c.identifier, c.assignment_generation, c.outcome, c.reason_code,
            right(c.agent_id::text, 2), c.source, c.detail)
        from dispatch.create_issue(
            dispatch_test.id(1), 'Written', 'user', dispatch_test.id(11),
            p_assignee_type => 'agent', p_assignee_id => dispatch_test.id(31),
            p_issue_id => dispatch_test.id(100), p_handoff_note => 'Read the log first.'
        ) as c
    ),
    'ABC-1 1 queued queued 31 assign', 'an issue created for an agent starts its run'
);
select is(
    (
        select concat_ws(' ', r.status, right(r.agent_id::text, 2), right(r.issue_id::text, 3),
            right(r.runtime_id::text, 2), r.priority, r.attempt, r.max_attempts, r.requested_at)
        from dispatch.run as r
    ),
    'queued 31 100 21 0 1 2 2030-01-15 12:00:00+00', 'the run is the agent''s, for the issue'
);
select is(
    (
        select concat_ws(' ', d.reason, d.source, right(d.issue_id::text, 3), d.actor_type,
            right(d.actor_id::text, 2), right(d.originator_id::text, 2), d.attribution_source,
            d.evidence_kind, right(d.evidence_id::text, 3), d.is_leader_run, d.handoff_note)
        from dispatch.run_detail as d
    ),
    'task_assigned assign 100 user 11 11 direct_human issue_assignment 100 f '
    'Read the log first.',
    'with reason, source, attribution, evidence and note'
);
select is(
    (select d.idempotency_key from dispatch.run_detail as d),
    format('task_assigned:%s:%s:1', dispatch_test.id(100), dispatch_test.id(31)),
    'the key names issue, agent and generation'
);
select is(
    (select d.payload from dispatch.run_detail as d),
    jsonb_build_object(
        'task_id', dispatch_test.id(100), 'actor_type', 'user', 'actor_id', dispatch_test.id(11)
    ),
    'the payload says which issue and who assigned it'
);
create temporary table answer as
select c.run_id
from dispatch.create_issue(
    dispatch_test.id(1), 'Written', 'user', dispatch_test.id(11), p_assignee_type => 'agent',
    p_assignee_id => dispatch_test.id(31), p_issue_id => dispatch_test.id(101)
) as c;
select is(
    (select a.run_id from answer as a),
    (select d.run_id from dispatch.run_detail as d where d.issue_id = dispatch_test.id(101)),
    'the answer names the run'
);

-- Creates an issue and tells what became of its wake.
create function pg_temp.create(
    p_status text default 'todo',
    p_assignee_type text default 'agent',
    p_assignee integer default 31,
    p_suppress boolean default false
)
returns text
language sql
as $create$
select concat_ws(
    ' ', c.assignment_generation, c.outcome, c.reason_code, c.run_id is not null,
    c.agent_id is not null, c.source, c.detail ->> 'why'
)
from dispatch.create_issue(
    dispatch_test.id(1), 'Written', 'user', dispatch_test.id(11), p_status => p_status,
    p_assignee_type => p_assignee_type, p_assignee_id => dispatch_test.id(p_assignee),
    p_handoff_note => 'Kept only with a run.', p_suppress_run => p_suppress
) as c;
$create$;

select is(
    pg_temp.create('backlog'), '1 none not_triggered f f parked_in_backlog',
    'in backlog nothing starts'
);
select is(
    pg_temp.create('todo', null, null), '0 none not_triggered f f no_assignee',
    'for nobody nothing starts, and there was no assignment'
);
select is(
    pg_temp.create('todo', 'member', 12), '1 none not_triggered f f member_assignee',
    'for a member nothing starts'
);
select is(
    pg_temp.create('todo', 'agent', 31, true), '1 none not_triggered f f suppressed',
    'a suppressed run is not started, the issue is written'
);
select is(
    (select count(*) from dispatch.run), 2::bigint, 'none of these left a run'
);
select is(
    (select count(d.handoff_note) from dispatch.run_detail as d), 1::bigint, 'nor a note'
);
select is(
    (select count(*) from dispatch.issue), 6::bigint, 'and all of the issues stand'
);
select is(
    pg_temp.create('done'), '1 queued queued t t assign', 'a status but backlog starts the run'
);

select * from finish();
rollback;

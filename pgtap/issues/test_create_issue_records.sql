begin;
select plan(11);
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

-- Workspace 2 has a member, an agent and an issue of its own.
select dispatch.put_workspace(dispatch_test.id(2), 'Elsewhere', 'XYZ');
select dispatch.put_member(dispatch_test.id(2), dispatch_test.id(13), 'Stranger');
select dispatch.put_runtime(dispatch_test.id(2), dispatch_test.id(22), 'daemon');
select dispatch.put_agent(
    dispatch_test.id(2), dispatch_test.id(39), 'Agent', dispatch_test.id(13),
    dispatch_test.id(22)
);
select dispatch.create_issue(
    dispatch_test.id(2), 'Theirs', 'system', p_issue_id => dispatch_test.id(109)
);

select is(
    (
        select concat_ws(' ', c.identifier, c.assignment_generation, c.outcome, c.reason_code,
            c.run_id, c.agent_id, c.source, c.detail)
        from dispatch.create_issue(
            dispatch_test.id(1), 'First', 'user', dispatch_test.id(11),
            p_issue_id => dispatch_test.id(100)
        ) as c
    ),
    'ABC-1 0 none not_triggered {"why": "no_assignee"}', 'an unassigned issue and its answer'
);
select is(
    (
        select concat_ws(' ', i.number, i.title, i.status, i.priority, i.assignee_type,
            i.assignee_id, i.assignment_generation, i.creator_type,
            right(i.creator_id::text, 2), i.origin_type, i.origin_id,
            i.parent_id, i.stage, i.created_at, i.updated_at)
        from dispatch.issue as i
        where i.workspace_id = dispatch_test.id(1)
    ),
    '1 First todo none 0 user 11 2030-01-15 12:00:00+00 2030-01-15 12:00:00+00',
    'the row, with the defaults'
);
select is(
    (
        select concat_ws(' ', c.identifier, right(c.issue_id::text, 3), c.assignment_generation)
        from dispatch.create_issue(
            dispatch_test.id(1), 'Second', 'system', null, null, 'in_review', 'high', 'member',
            dispatch_test.id(12), dispatch_test.id(101), 'note', false, dispatch_test.id(100), 3
        ) as c
    ),
    'ABC-2 101 1', 'numbers follow each other; the arguments stand in their order'
);
select is(
    (
        select concat_ws(' ', i.title, i.status, i.priority, i.assignee_type,
            right(i.assignee_id::text, 2), i.creator_type, i.creator_id,
            right(i.parent_id::text, 3), i.stage)
        from dispatch.issue as i
        where i.id = dispatch_test.id(101)
    ),
    'Second in_review high member 12 system 100 3', 'every argument is stored'
);
select is(
    (
        select substr(c.issue_id::text, 15, 1)
        from dispatch.create_issue(dispatch_test.id(1), 'Third', 'system') as c
    ),
    '7', 'an id is minted when none is given'
);
select is(
    (
        select c.identifier
        from dispatch.create_issue(
            dispatch_test.id(2), 'Other', 'system', p_issue_id => dispatch_test.id(100)
        ) as c
    ),
    'XYZ-2', 'another workspace counts for itself and may use the same id'
);
select dispatch.put_workspace(dispatch_test.id(1), 'Board', 'NEW');
select is(
    (
        select c.identifier
        from dispatch.create_issue(dispatch_test.id(1), 'Fourth', 'system') as c
    ),
    'NEW-4', 'the identifier has the prefix of the day'
);

-- Agent 31 acts in run 61.
insert into dispatch.run (workspace_id, id, agent_id, runtime_id, lane, status, requested_at)
values (
    dispatch_test.id(1), dispatch_test.id(61), dispatch_test.id(31), dispatch_test.id(21),
    dispatch_test.id(61), 'running', dispatch.clock()
);
insert into dispatch.run_detail (
    workspace_id, run_id, requested_at, reason, source, payload, actor_type, actor_id,
    originator_id, accountable_id, attribution_source
)
values (
    dispatch_test.id(1), dispatch_test.id(61), dispatch.clock(), 'r', 'wake', '{}', 'user',
    dispatch_test.id(11), dispatch_test.id(11), dispatch_test.id(11), 'direct_human'
);
select is(
    (
        select concat_ws(' ', c.outcome, c.reason_code)
        from dispatch.create_issue(
            dispatch_test.id(1), 'By an agent', 'agent', dispatch_test.id(31),
            dispatch_test.id(61), p_assignee_type => 'agent',
            p_assignee_id => dispatch_test.id(32), p_issue_id => dispatch_test.id(102)
        ) as c
    ),
    'queued queued', 'an agent may assign what the originator of its run may'
);
select is(
    (
        select concat_ws(' ', i.creator_type, right(i.creator_id::text, 2), i.origin_type,
            right(i.origin_id::text, 2))
        from dispatch.issue as i
        where i.id = dispatch_test.id(102)
    ),
    'agent 31 agent_create 61', 'its issue names the run as origin'
);
select is(
    (
        select concat_ws(' ', d.actor_type, right(d.actor_id::text, 2),
            right(d.originator_id::text, 2), d.attribution_source,
            right(d.delegated_from_run_id::text, 2))
        from dispatch.run_detail as d
        where d.issue_id = dispatch_test.id(102)
    ),
    'agent 31 11 delegation 61', 'and the run that it starts the human at the top'
);
select dispatch.create_issue(
    dispatch_test.id(1), 'Out of a run', 'agent', dispatch_test.id(31),
    p_issue_id => dispatch_test.id(103)
);
select is(
    (
        select concat_ws(' ', i.creator_type, i.origin_type)
        from dispatch.issue as i
        where i.id = dispatch_test.id(103)
    ),
    'agent', 'an agent out of a run leaves no origin'
);

select * from finish();
rollback;

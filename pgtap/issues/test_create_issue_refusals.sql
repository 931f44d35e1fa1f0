begin;
select plan(43);
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

select dispatch.put_agent(
    dispatch_test.id(1), dispatch_test.id(33), 'Archived', dispatch_test.id(11),
    dispatch_test.id(21)
);
select dispatch.put_squad(
    dispatch_test.id(1), dispatch_test.id(s), 'Squad', dispatch_test.id(leader)
)
from (values (41, 31), (42, 31), (43, 33)) as q (s, leader);
select dispatch.archive_squad(dispatch_test.id(1), dispatch_test.id(42));
select dispatch.archive_agent(dispatch_test.id(1), dispatch_test.id(33));
-- Run 61 of agent 31 has ended, run 62 of agent 32 has not.
insert into dispatch.run (
    workspace_id, id, agent_id, runtime_id, lane, status, requested_at, finished_at
)
values
(
    dispatch_test.id(1), dispatch_test.id(61), dispatch_test.id(31), dispatch_test.id(21),
    dispatch_test.id(61), 'completed', dispatch.clock(), dispatch.clock()
),
(
    dispatch_test.id(1), dispatch_test.id(62), dispatch_test.id(32), dispatch_test.id(21),
    dispatch_test.id(62), 'running', dispatch.clock(), null
);
insert into dispatch.run_detail (
    workspace_id, run_id, requested_at, reason, source, payload, actor_type, attribution_source
)
select r.workspace_id, r.id, r.requested_at, 'r', 'wake', '{}', 'system', 'owner_fallback'
from dispatch.run as r;

-- Tells how a creation is refused whose arguments differ in one from a good one.
create function pg_temp.refused(p_instead text, p_by text default null)
returns text
language sql
as $refused$
select dispatch_test.error_of(format(
    $$select dispatch.create_issue(%s)$$,
    string_agg(format('%I => %s', a.name, a.value), ', ')
))
from (
    select distinct on (v.name) v.name, v.value
    from (
        values
        (1, p_instead, coalesce(p_by, 'null')),
        (2, 'p_workspace_id', 'dispatch_test.id(1)'),
        (2, 'p_title', quote_literal('Written')),
        (2, 'p_actor_type', case
            when p_instead = 'p_acting_run_id' then quote_literal('agent')
            else quote_literal('user')
        end),
        (2, 'p_actor_id', case
            when p_instead = 'p_acting_run_id' then 'dispatch_test.id(31)'
            else 'dispatch_test.id(11)'
        end),
        (2, 'p_issue_id', 'dispatch_test.id(100)')
    ) as v (place, name, value)
    order by v.name, v.place
) as a;
$refused$;

-- Tells how an assignee is refused, by a member.
create function pg_temp.assignee(p_type text, p_id text, p_by integer default 11)
returns text
language sql
as $assignee$
select dispatch_test.error_of(format(
    $$select dispatch.create_issue(
        dispatch_test.id(1), 'Written', 'user', dispatch_test.id(%s), p_assignee_type => %L,
        p_assignee_id => %s
    )$$,
    p_by, p_type, p_id
));
$assignee$;

select dispatch.create_issue(
    dispatch_test.id(1), 'Taken', 'system', p_issue_id => dispatch_test.id(108)
);
create temporary table before as
select
    (select count(*) from dispatch.issue) as issues,
    (select count(*) from dispatch.run) as runs;

select is(pg_temp.refused('p_workspace_id'), 'PD400 p_workspace_id', 'no workspace');
select is(
    pg_temp.refused('p_workspace_id', $$'00000000-0000-0000-0000-000000000000'$$),
    'PD400 p_workspace_id', 'an all-zero workspace'
);
select is(
    pg_temp.refused('p_workspace_id', 'dispatch_test.id(9)'),
    'PD404 p_workspace_id', 'an unknown workspace'
);
select is(pg_temp.refused('p_title'), 'PD400 p_title', 'no title');
select is(pg_temp.refused('p_title', $$'  '$$), 'PD400 p_title', 'a blank title');
select is(
    pg_temp.refused('p_title', $$repeat('x', 201)$$),
    'PD400 p_title', 'a title of 201 bytes'
);
select is(pg_temp.refused('p_status'), 'PD400 p_status', 'no status');
select is(pg_temp.refused('p_status', $$'open'$$), 'PD400 p_status', 'an unknown status');
select is(pg_temp.refused('p_priority'), 'PD400 p_priority', 'no priority');
select is(
    pg_temp.refused('p_priority', $$'Urgent'$$),
    'PD400 p_priority', 'an unknown priority'
);
select is(pg_temp.refused('p_actor_type'), 'PD400 p_actor_type', 'no actor');
select is(
    pg_temp.refused('p_actor_type', $$'robot'$$),
    'PD400 p_actor_type', 'an unknown actor'
);
select is(
    pg_temp.refused('p_actor_id', $$'00000000-0000-0000-0000-000000000000'$$),
    'PD400 p_actor_id', 'an all-zero actor'
);
select is(
    pg_temp.refused('p_actor_id', 'dispatch_test.id(13)'),
    'PD403 p_actor_id', 'a member of another workspace'
);
select is(
    pg_temp.refused('p_acting_run_id', 'dispatch_test.id(61)'),
    'PD403 p_acting_run_id attribution_blocked', 'an ended run'
);
select is(
    pg_temp.refused('p_acting_run_id', 'dispatch_test.id(62)'),
    'PD403 p_acting_run_id attribution_blocked', 'the run of another agent'
);
select is(
    pg_temp.refused('p_issue_id', $$'00000000-0000-0000-0000-000000000000'$$),
    'PD400 p_issue_id', 'an all-zero id'
);
select is(
    pg_temp.refused('p_issue_id', 'dispatch_test.id(108)'),
    'PD409 p_issue_id', 'an id that is taken'
);
select is(
    pg_temp.refused('p_parent_id', $$'00000000-0000-0000-0000-000000000000'$$),
    'PD400 p_parent_id', 'an all-zero parent'
);
select is(
    pg_temp.refused('p_parent_id', 'dispatch_test.id(107)'),
    'PD404 p_parent_id', 'an unknown parent'
);
select is(
    pg_temp.refused('p_parent_id', 'dispatch_test.id(109)'),
    'PD404 p_parent_id', 'a foreign parent'
);
select is(
    pg_temp.refused('p_parent_id', 'dispatch_test.id(100)'),
    'PD404 p_parent_id', 'itself as parent'
);
select is(pg_temp.refused('p_stage', '-1'), 'PD400 p_stage', 'a negative stage');
select is(
    pg_temp.refused('p_suppress_run'),
    'PD400 p_suppress_run', 'neither suppressed nor not'
);
select is(
    pg_temp.refused('p_handoff_note', $$repeat('x', dispatch.document_limit() + 1)$$),
    'PD400 p_handoff_note', 'a note above 1 MiB'
);
select is(
    pg_temp.refused('p_assignee_type', $$'agent'$$),
    'PD400 p_assignee_id', 'a type without an id'
);
select is(
    pg_temp.refused('p_assignee_id', 'dispatch_test.id(31)'),
    'PD400 p_assignee_type', 'an id without a type'
);

select is(
    pg_temp.assignee('person', 'dispatch_test.id(11)'),
    'PD400 p_assignee_type', 'an unknown kind of assignee'
);
select is(
    pg_temp.assignee('agent', $$'00000000-0000-0000-0000-000000000000'$$),
    'PD400 p_assignee_id', 'an all-zero assignee'
);
select is(
    pg_temp.assignee('agent', 'dispatch_test.id(31)', 12),
    'PD403 p_assignee_id invocation_not_allowed', 'an agent private to another'
);
select is(
    pg_temp.assignee('agent', 'dispatch_test.id(77)'),
    'PD403 p_assignee_id invocation_not_allowed', 'an unknown agent'
);
select is(
    pg_temp.assignee('agent', 'dispatch_test.id(39)'),
    'PD403 p_assignee_id invocation_not_allowed', 'a foreign agent'
);
select is(
    pg_temp.assignee('agent', 'dispatch_test.id(33)'),
    'PD400 p_assignee_id target_unavailable', 'an archived agent'
);
select is(
    pg_temp.assignee('agent', 'dispatch_test.id(33)', 12),
    'PD403 p_assignee_id invocation_not_allowed', 'an archived agent private to another'
);
select is(
    pg_temp.assignee('squad', 'dispatch_test.id(41)', 12),
    'PD403 p_assignee_id invocation_not_allowed', 'a squad whose leader is private to another'
);
select is(
    pg_temp.assignee('squad', 'dispatch_test.id(77)'),
    'PD403 p_assignee_id invocation_not_allowed', 'an unknown squad'
);
select is(
    pg_temp.assignee('squad', 'dispatch_test.id(42)'),
    'PD400 p_assignee_id target_unavailable', 'an archived squad'
);
select is(
    pg_temp.assignee('squad', 'dispatch_test.id(43)'),
    'PD400 p_assignee_id target_unavailable', 'a squad with an archived leader'
);
select is(
    pg_temp.assignee('member', 'dispatch_test.id(13)'),
    'PD400 p_assignee_id', 'a person of another workspace'
);

select is(
    (
        select array_agg(distinct dispatch_test.catch(format(
            $$select dispatch.create_issue(
                dispatch_test.id(1), 'Written', 'user', dispatch_test.id(12),
                p_assignee_type => 'agent', p_assignee_id => dispatch_test.id(%s)
            )$$,
            a
        ))::text)
        from unnest(array[31, 33, 39, 77]) as a
    ),
    array[
        '(PD403,"assignee not allowed",p_assignee_id,invocation_not_allowed,'
        '"p_assignee_id: name one that the actor may invoke.")'
    ],
    'private, archived, foreign and nonexistent agents are refused in the same words'
);
select is(
    (
        select concat_ws(' ', (select count(*) from dispatch.issue) - b.issues,
            (select count(*) from dispatch.run) - b.runs)
        from before as b
    ),
    '0 0', 'no refused call has written anything'
);
select is(
    (select w.issue_counter from dispatch.workspace as w where w.id = dispatch_test.id(1)),
    1::bigint, 'nor taken a number'
);
select is(
    pg_temp.assignee('squad', 'dispatch_test.id(41)'), '00000',
    'a squad whose leader the actor may invoke is not refused'
);

select * from finish();
rollback;

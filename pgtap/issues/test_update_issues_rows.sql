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
    values (100, 'todo'), (101, 'todo'), (102, 'backlog'), (103, 'todo')
) as i (number, status);

-- Writes changes to many issues and tells each row, in order.
create function pg_temp.change_all(p_issues integer[], p_changes jsonb, p_actor integer)
returns text
language sql
as $all$
select string_agg(
    concat_ws(
        ' ', right(u.issue_id::text, 3), u.identifier, u.assignment_generation, u.outcome,
        u.reason_code, right(u.agent_id::text, 2), u.source, u.detail ->> 'why'
    ),
    e'\n' order by u.ordinality
)
from dispatch.update_issues(
    dispatch_test.id(1), array(
        select dispatch_test.id(n) from unnest(p_issues) with ordinality as i (n, place)
        order by i.place
    ),
    p_changes, 'user', dispatch_test.id(p_actor), null, 'Handed over.'
) with ordinality as u;
$all$;

select is(
    pg_temp.change_all(array[103, 777, 102, 109, 100], pg_temp.assign(31), 11),
    '103 ABC-4 1 queued queued 31 assign
777 none not_triggered
102 ABC-3 1 none not_triggered parked_in_backlog
109 none not_triggered
100 ABC-1 1 queued queued 31 assign',
    'one row an id in the order given; unknown and foreign ones alike'
);
select is(
    (
        select string_agg(concat_ws(' ', right(d.issue_id::text, 3), d.handoff_note), ', '
            order by d.run_id)
        from dispatch.run_detail as d
    ),
    '100 Handed over., 103 Handed over.', 'the runs that started have the note'
);
select is(
    (
        select concat_ws(' ', i.title, i.assignee_id, i.assignment_generation)
        from dispatch.issue as i
        where i.id = dispatch_test.id(109)
    ),
    'Theirs 0', 'the foreign issue is untouched'
);
select is(
    pg_temp.change_all(array[101, 100, 101], pg_temp.assign(31), 11),
    '101 ABC-2 1 queued queued 31 assign
100 ABC-1 2 coalesced coalesced 31 assign
101 ABC-2 1 queued queued 31 assign',
    'an id that is named twice is written once, and its row repeated'
);
select is(
    pg_temp.change_all(array[100, 777, 102], pg_temp.assign(31) || '{"status": "done"}', 12),
    '100 ABC-1 2 blocked invocation_not_allowed
777 none not_triggered
102 ABC-3 1 blocked invocation_not_allowed',
    'a refused assignee is blocked in each row'
);
select is(
    (
        select string_agg(i.status, ' ' order by i.number)
        from dispatch.issue as i
        where i.workspace_id = dispatch_test.id(1)
    ),
    'todo todo backlog todo', 'and nothing of it is written'
);
select is(
    pg_temp.change_all(array[100, 102], '{"status": "in_progress"}', 12),
    '100 ABC-1 2 none not_triggered not_a_start_signal
102 ABC-3 1 queued queued 31 status',
    'each issue is judged by itself; a status needs no right to invoke'
);
select dispatch.archive_agent(dispatch_test.id(1), dispatch_test.id(32));
select is(
    pg_temp.change_all(array[100], pg_temp.assign(32), 11),
    '100 ABC-1 2 blocked target_unavailable', 'an archived assignee is blocked by its own code'
);
select is(
    pg_temp.change_all('{}', '{"title": "x"}', 11), null, 'no id, no row'
);
select is(
    (
        select count(*)
        from dispatch.update_issues(
            dispatch_test.id(1),
            array['00000000-0000-0000-0000-000000000000'::uuid] || array(
                select dispatch_test.id(n)
                from generate_series(2, dispatch.batch_limit()) as n
            ),
            '{"title": "Many"}', 'system'
        ) as u
    ),
    dispatch.batch_limit()::bigint, 'a full batch is taken; the all-zero id is an unknown one'
);
select is(
    dispatch_test.error_of($$
        select u.outcome
        from dispatch.update_issues(
            dispatch_test.id(1),
            array(
                select dispatch_test.id(n) from generate_series(0, dispatch.batch_limit()) as n
            ),
            '{}', 'system'
        ) as u
    $$),
    'PD400 p_issue_ids', 'one more is refused'
);
select is(
    dispatch_test.error_of($$
        select u.outcome
        from dispatch.update_issues(dispatch_test.id(1), null, '{}', 'system') as u
    $$),
    'PD400 p_issue_ids', 'so is no array'
);
select is(
    dispatch_test.error_of($$
        select u.outcome
        from dispatch.update_issues(
            dispatch_test.id(1), array[dispatch_test.id(100), null], '{}', 'system'
        ) as u
    $$),
    'PD400 p_issue_ids', 'and a NULL in it'
);

select * from finish();
rollback;

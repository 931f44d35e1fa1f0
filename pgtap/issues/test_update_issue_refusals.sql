begin;
select plan(48);
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
select dispatch.create_issue(
    dispatch_test.id(1), 'Written', 'user', dispatch_test.id(11),
    p_issue_id => dispatch_test.id(100)
);
create temporary table before as
select to_jsonb(i) as row
from dispatch.issue as i;

-- Tells how an update and a batch of one are refused; two answers where they differ.
create function pg_temp.refused(
    p_changes text,
    p_by integer default 11,
    p_more text default '',
    p_ws text default 'dispatch_test.id(1)'
)
returns text
language sql
as $refused$
select string_agg(distinct dispatch_test.error_of(format(
    'select u.outcome from dispatch.%s(%s, %s, %s, ''user'', dispatch_test.id(%s)%s) as u',
    f.name, p_ws, f.ids, p_changes, p_by, p_more
)), ' or ')
from (
    values
    ('update_issue', 'dispatch_test.id(100)'),
    ('update_issues', 'array[dispatch_test.id(100)]')
) as f (name, ids);
$refused$;

create function pg_temp.assignee(p_type text, p_id integer, p_by integer default 11)
returns text
language sql
as $assignee$
select dispatch_test.error_of(format(
    $$select dispatch.update_issue(
        dispatch_test.id(1), dispatch_test.id(100), %L, 'user', dispatch_test.id(%s)
    )$$,
    jsonb_build_object(
        'status', 'done',
        'assignee', jsonb_build_object('type', p_type, 'id', dispatch_test.id(p_id))
    ),
    p_by
));
$assignee$;

select is(pg_temp.refused('null'), 'PD400 p_changes', 'no changes');
select is(pg_temp.refused($$'[]'$$), 'PD400 p_changes', 'an array');
select is(pg_temp.refused($$'null'$$), 'PD400 p_changes', 'a JSON null');
select is(pg_temp.refused($$'{"stage": 1}'$$), 'PD400 p_changes.stage', 'an unknown key');
select is(
    pg_temp.refused($$'{"Title": "x"}'$$),
    'PD400 p_changes.Title', 'a key in another case'
);
select is(pg_temp.refused($$'{"title": null}'$$), 'PD400 p_changes.title', 'no title');
select is(pg_temp.refused($$'{"title": 7}'$$), 'PD400 p_changes.title', 'a number as title');
select is(pg_temp.refused($$'{"title": " "}'$$), 'PD400 p_changes.title', 'a blank title');
select is(
    pg_temp.refused($$jsonb_build_object('title', repeat('x', 201))$$),
    'PD400 p_changes.title', 'a title of 201 bytes'
);
select is(pg_temp.refused($$'{"status": null}'$$), 'PD400 p_changes.status', 'no status');
select is(
    pg_temp.refused($$'{"status": "open"}'$$),
    'PD400 p_changes.status', 'an unknown status'
);
select is(
    pg_temp.refused($$'{"status": ["todo"]}'$$),
    'PD400 p_changes.status', 'an array as status'
);
select is(pg_temp.refused($$'{"priority": null}'$$), 'PD400 p_changes.priority', 'no priority');
select is(
    pg_temp.refused($$'{"priority": "top"}'$$),
    'PD400 p_changes.priority', 'an unknown priority'
);
select is(
    pg_temp.refused($$'{"assignee": "agent"}'$$),
    'PD400 p_changes.assignee', 'a text as assignee'
);
select is(
    pg_temp.refused($$'{"assignee": []}'$$),
    'PD400 p_changes.assignee', 'an array as assignee'
);
select is(
    pg_temp.refused($$'{"assignee": {}}'$$),
    'PD400 p_changes.assignee', 'an empty assignee'
);
select is(
    pg_temp.refused($$'{"assignee": {"type": "agent"}}'$$),
    'PD400 p_changes.assignee', 'a type without an id'
);
select is(
    pg_temp.refused($$'{"assignee": {"id": "00000000-0000-7000-8000-000000000031"}}'$$),
    'PD400 p_changes.assignee', 'an id without a type'
);
select is(
    pg_temp.refused($$'{"assignee": {"type": null, "id": null}}'$$),
    'PD400 p_changes.assignee', 'an assignee of nulls'
);
select is(
    pg_temp.refused($$'{"assignee": {"type": "agent", "id": "x"}}'$$),
    'PD400 p_changes.assignee', 'a malformed id'
);
select is(
    pg_temp.refused($$'{"assignee": {"type": "agent", "id": 5}}'$$),
    'PD400 p_changes.assignee', 'a number as id'
);
select is(
    pg_temp.refused(format(
        $$jsonb_build_object('assignee', %L::jsonb)$$,
        '{"type": "agent", "id": "00000000-0000-0000-0000-000000000000"}'
    )),
    'PD400 p_changes.assignee', 'an all-zero id'
);
select is(
    pg_temp.refused(format(
        $$jsonb_build_object('assignee', %L::jsonb)$$,
        '{"type": "person", "id": "00000000-0000-7000-8000-000000000031"}'
    )),
    'PD400 p_changes.assignee', 'an unknown kind of assignee'
);
select is(
    pg_temp.refused(format(
        $$jsonb_build_object('assignee', %L::jsonb)$$,
        '{"type": "agent", "id": "00000000-0000-7000-8000-000000000031", "x": 1}'
    )),
    'PD400 p_changes.assignee', 'a third key'
);
select is(
    pg_temp.refused(format(
        $$jsonb_build_object('assignee', %L::jsonb)$$,
        '{"type": "member", "id": "00000000-0000-7000-8000-000000000013"}'
    )),
    'PD400 p_changes.assignee', 'a person of another workspace'
);
select is(pg_temp.refused($$'{}'$$, 13), 'PD403 p_actor_id', 'an actor of another workspace');
select is(
    pg_temp.refused($$'{}'$$, 11, ', dispatch_test.id(61)'),
    'PD400 p_acting_run_id', 'a run for a person'
);
select is(
    pg_temp.refused($$'{}'$$, 11, ', p_suppress_run => null'),
    'PD400 p_suppress_run', 'neither suppressed nor not'
);
select is(
    pg_temp.refused($$'{}'$$, 11, ', null, repeat(''x'', 1048577)'),
    'PD400 p_handoff_note', 'a note above 1 MiB'
);
select is(pg_temp.refused($$'{}'$$, 11, '', 'null'), 'PD400 p_workspace_id', 'no workspace');
select is(
    pg_temp.refused($$'{}'$$, 11, '', 'dispatch_test.id(9)'),
    'PD404 p_workspace_id', 'an unknown workspace'
);

select is(
    pg_temp.assignee('agent', 31, 12),
    'PD403 p_changes.assignee invocation_not_allowed', 'an agent private to another'
);
select is(
    pg_temp.assignee('agent', 77),
    'PD403 p_changes.assignee invocation_not_allowed', 'an unknown agent'
);
select is(
    pg_temp.assignee('agent', 39),
    'PD403 p_changes.assignee invocation_not_allowed', 'a foreign agent'
);
select is(
    pg_temp.assignee('agent', 33),
    'PD400 p_changes.assignee target_unavailable', 'an archived agent'
);
select is(
    pg_temp.assignee('agent', 33, 12),
    'PD403 p_changes.assignee invocation_not_allowed', 'an archived agent private to another'
);
select is(
    pg_temp.assignee('squad', 41, 12),
    'PD403 p_changes.assignee invocation_not_allowed', 'a squad whose leader is not open'
);
select is(
    pg_temp.assignee('squad', 77),
    'PD403 p_changes.assignee invocation_not_allowed', 'an unknown squad'
);
select is(
    pg_temp.assignee('squad', 42),
    'PD400 p_changes.assignee target_unavailable', 'an archived squad'
);
select is(
    pg_temp.assignee('squad', 43),
    'PD400 p_changes.assignee target_unavailable', 'a squad with an archived leader'
);

-- Tells how an update is refused whose issue is p_issue.
create function pg_temp.issue(p_issue text)
returns text
language sql
as $issue$
select dispatch_test.error_of(format(
    $$select dispatch.update_issue(
        dispatch_test.id(1), %s, '{"title": "x"}', 'user', dispatch_test.id(11)
    )$$,
    p_issue
));
$issue$;

select is(pg_temp.issue('null'), 'PD400 p_issue_id', 'no issue');
select is(
    pg_temp.issue($$'00000000-0000-0000-0000-000000000000'$$),
    'PD400 p_issue_id', 'an all-zero issue'
);
select is(pg_temp.issue('dispatch_test.id(777)'), 'PD404 p_issue_id', 'an unknown issue');
select is(pg_temp.issue('dispatch_test.id(109)'), 'PD404 p_issue_id', 'a foreign issue');
select is(pg_temp.issue($$'ABC-1'$$), '22P02', 'an identifier instead of an id');
select is(
    (select array_agg(to_jsonb(i) order by i.id) from dispatch.issue as i),
    (select array_agg(b.row order by b.row ->> 'id') from before as b),
    'no refused call has written an issue'
);
select is((select count(*) from dispatch.run), 0::bigint, 'nor started a run');

select * from finish();
rollback;

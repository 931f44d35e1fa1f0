begin;
select plan(16);
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

create function pg_temp.to(p_id integer, p_type text default 'agent') returns jsonb
language sql
as $fn$
select jsonb_build_object(
    'assignee', jsonb_build_object('type', p_type, 'id', dispatch_test.id(p_id))
);
$fn$;

select dispatch.create_issue(
    dispatch_test.id(1), 'Previewed', 'user', dispatch_test.id(11), p_status => i.status,
    p_assignee_type => case when i.agent is not null then 'agent' end,
    p_assignee_id => dispatch_test.id(i.agent), p_issue_id => dispatch_test.id(i.number)
)
from (
    values
        (100, 'todo', null), (101, 'backlog', 31), (102, 'todo', 32), (103, 'backlog', null)
) as i (number, status, agent);
select dispatch.put_workspace(dispatch_test.id(2), 'Other', 'OTH');
select dispatch.create_issue(
    dispatch_test.id(2), 'Foreign', 'system', p_issue_id => dispatch_test.id(190)
);

create function pg_temp.preview(
    p_issues integer[], p_changes jsonb, p_actor integer default 11
)
returns text
language sql
as $fn$
select string_agg(
    concat_ws(
        ' ', right(p.issue_id::text, 3), p.will_run, p.outcome, p.reason_code,
        right(p.agent_id::text, 2), p.source, p.detail ->> 'why'
    ),
    '; ' order by p.ordinality
)
from dispatch.preview_update(
    dispatch_test.id(1), array(select dispatch_test.id(n) from unnest(p_issues) as n),
    p_changes, 'user', dispatch_test.id(p_actor)
) with ordinality as p;
$fn$;

select is(
    pg_temp.preview('{103,100,101}', pg_temp.to(31)),
    '103 f none not_triggered parked_in_backlog; 100 t queued queued 31 assign; '
    '101 f none not_triggered parked_in_backlog',
    'one row an issue, in the order given'
);
select is(
    pg_temp.preview('{100,190,777,0,100,101,100}', '{"title": "Anew"}'),
    '100 f none not_triggered no_assignee; 101 f none not_triggered parked_in_backlog',
    'an id that is named again, foreign, unknown or all-zero has no row'
);
select is(pg_temp.preview('{}', '{}'), null, 'no ids, no rows');
select is(
    pg_temp.preview('{101,102}', '{"status": "in_progress"}'),
    '101 t queued queued 31 status; 102 f none not_triggered not_a_start_signal',
    'only what leaves backlog is promoted'
);
select is(
    pg_temp.preview('{101}', pg_temp.to(32) || '{"status": "todo"}'),
    '101 t queued queued 32 assign', 'an assignment wins over the promotion in one write'
);
select is(
    pg_temp.preview('{102}', pg_temp.to(32)), '102 f coalesced coalesced 32 assign',
    'the same assignee is an assignment, which merges within the window'
);
select is(
    pg_temp.preview('{101}', '{"status": "todo"}', 12),
    '101 f none not_triggered not_invocable',
    'who may not invoke the agent does not learn that it would run'
);
select is(
    pg_temp.preview('{100,101}', pg_temp.to(31), 12),
    '100 f blocked invocation_not_allowed; 101 f blocked invocation_not_allowed',
    'an assignee that is refused is blocked in each row'
);
select is(
    pg_temp.preview('{102}', '{"assignee": null}'), '102 f none not_triggered no_assignee',
    'a cleared assignee starts nothing'
);
select dispatch_test.advance_clock(dispatch.coalesce_window());
select is(
    pg_temp.preview('{102}', pg_temp.to(32)), '102 f absorbed already_active 32 assign',
    'outside of it the slot is taken'
);
select is(
    (
        select concat_ws(
            ' ', sum(i.assignment_generation), (select count(*) from dispatch.run),
            (select count(*) from dispatch.run_trigger),
            (select count(*) from dispatch.gate_event)
        )
        from dispatch.issue as i
    ),
    '2 1 0 0', 'nothing was written'
);

create function pg_temp.error(p_ids text, p_changes text, p_actor text)
returns text
language sql
as $fn$
select dispatch_test.error_of(format(
    'select p.outcome from dispatch.preview_update(dispatch_test.id(1), %s, %s, %s) as p',
    p_ids, p_changes, p_actor
));
$fn$;
select is(pg_temp.error(t.ids, t.changes, t.actor), t.error, t.what)
from (
    values
        (1, 'null', $$'{}'$$, $$'system'$$, 'PD400 p_issue_ids', 'no array of ids'),
        (
            2, 'array(select gen_random_uuid() from generate_series(0, 500))', $$'{}'$$,
            $$'system'$$, 'PD400 p_issue_ids', '501 ids'
        ),
        (
            3, 'array(select gen_random_uuid() from generate_series(1, 500))', $$'{}'$$,
            $$'system'$$, '00000', '500 ids'
        ),
        (
            4, $$'{}'$$, $$'{"assignee": {"type": "agent", "id": "x"}}'$$, $$'system'$$,
            'PD400 p_changes.assignee', 'a malformed assignee'
        ),
        (5, $$'{}'$$, $$'{}'$$, $$'robot'$$, 'PD400 p_actor_type', 'an unknown kind of actor')
) as t (n, ids, changes, actor, error, what)
order by t.n;

select * from finish();
rollback;

begin;
select plan(15);

select dispatch_test.set_clock('2030-01-15 12:00:00+00');
select dispatch.put_workspace(dispatch_test.id(1), 'Works');
select dispatch.put_member(dispatch_test.id(1), dispatch_test.id(2), 'Ana');
select dispatch.put_runtime(dispatch_test.id(1), dispatch_test.id(3), 'daemon-1');
select dispatch.heartbeat(dispatch_test.id(1), array[dispatch_test.id(3)]);
select dispatch.put_agent(
    dispatch_test.id(1), dispatch_test.id(4), 'alpha', dispatch_test.id(2), dispatch_test.id(3)
);

create function pg_temp.refusal(p_wakes text)
returns text
language sql
as $fn$
    select dispatch_test.error_of(format(
        'select dispatch.queue_wakes(dispatch_test.id(1), %L)',
        replace(p_wakes, 'GOOD', '"agent_id": "' || dispatch_test.id(4) || '", "reason": "r"')
    ));
$fn$;

select is(pg_temp.refusal('{}'), 'PD400 p_wakes', 'an object is no batch');
select is(pg_temp.refusal('"x"'), 'PD400 p_wakes', 'a text is no batch');
select is(
    dispatch_test.error_of('select dispatch.queue_wakes(dispatch_test.id(1), null)'),
    'PD400 p_wakes',
    'NULL is no batch'
);
select is(
    dispatch_test.error_of('select dispatch.queue_wakes(null, ''[]'')'),
    'PD400 p_workspace_id',
    'the workspace is required'
);
select is(pg_temp.refusal('[{GOOD}, 7]'), 'PD400 p_wakes[1]', 'an element must be an object');
select is(pg_temp.refusal('[null]'), 'PD400 p_wakes[0]', 'null is no element');
select is(
    pg_temp.refusal('[{GOOD}, {GOOD, "colour": 1}]'), 'PD400 p_wakes[1].colour',
    'an unknown key is named'
);
select is(
    pg_temp.refusal('[{GOOD, "colour": null}]'), 'PD400 p_wakes[0].colour',
    'even when it holds a null'
);
select is(
    pg_temp.refusal('[{GOOD, "p_priority": 1}]'), 'PD400 p_wakes[0].p_priority',
    'the keys have no prefix'
);
select is(
    pg_temp.refusal('[{"agent_id": "00000000-0000-7000-8000-000000000004"}]'),
    'PD400 p_wakes[0].reason',
    'the reason is required'
);
select is(pg_temp.refusal('[{"reason": "r"}]'), 'PD400 p_wakes[0].agent_id', 'so is the agent');
select is(
    pg_temp.refusal('[{"reason": "r", "agent_id": null}]'), 'PD400 p_wakes[0].agent_id',
    'null is no agent'
);
select is(
    pg_temp.refusal('[{"reason": "r", "agent_id": "00000000-0000-0000-0000-000000000000"}]'),
    'PD400 p_wakes[0].agent_id',
    'B2: nor is the all-zero uuid'
);
select is((select count(*) from dispatch.run), 0::bigint, 'nothing was written');
select is(
    pg_temp.refusal('[{GOOD, "priority": null, "issue_id": null, "coalesce": null}]'),
    '00000',
    'a null in an optional key counts as absent'
);

select * from finish();
rollback;

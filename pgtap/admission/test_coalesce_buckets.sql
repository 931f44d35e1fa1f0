begin;
select plan(17);

select dispatch_test.set_clock('2030-01-15 12:00:00+00');
select dispatch.put_workspace(dispatch_test.id(1), 'Works');
select dispatch.put_member(dispatch_test.id(1), dispatch_test.id(2), 'Ana');
select dispatch.put_runtime(dispatch_test.id(1), dispatch_test.id(3), 'daemon-1');
select dispatch.heartbeat(dispatch_test.id(1), array[dispatch_test.id(3)]);
select dispatch.put_agent(
    dispatch_test.id(1), dispatch_test.id(10 + n), 'agent ' || n, dispatch_test.id(2),
    dispatch_test.id(3)
)
from generate_series(1, 17) as n;
insert into dispatch.issue (
    workspace_id, id, number, title, status, priority, creator_type, created_at, updated_at
)
select
    dispatch_test.id(1), dispatch_test.id(100 + n), n, 'issue', 'todo', 'none', 'system',
    dispatch.clock(), dispatch.clock()
from generate_series(1, 3) as n;

-- What becomes of a second wake, by the task_id of the first and its own.
create function pg_temp.pair(p_step integer, p_first text, p_second text) returns text
language plpgsql
as $fn$
declare
    v_outcome text;
begin
    select d.outcome
    into v_outcome
    from unnest(array[p_first, p_second]) as p (text)
    cross join lateral dispatch.queue_wake(
        dispatch_test.id(1), dispatch_test.id(10 + p_step), 'mention',
        dispatch.read_payload(p.text), p_issue_id => dispatch_test.id(101)
    ) as d
    offset 1;
    return v_outcome;
end;
$fn$;

select is(
    pg_temp.pair(t.step, t.first, t.second), t.outcome,
    format('T52, T53: %s, then %s', t.first, t.second)
)
from (
    values
        (1, '{}', '{"task_id": null}', 'coalesced'),
        (2, '{"task_id": null}', '{"task_id": ""}', 'coalesced'),
        (3, '{"task_id": ""}', '{}', 'coalesced'),
        (4, '{"x": 1}', 'not json', 'coalesced'),
        (5, 'not json', '[1]', 'coalesced'),
        (6, '', '{"task_id": null}', 'coalesced'),
        (7, '{"task_id": 42}', '{"task_id": 42}', 'absorbed'),
        (8, '{"task_id": true}', '{"task_id": true}', 'absorbed'),
        (9, '{"task_id": {}}', '{"task_id": {}}', 'absorbed'),
        (10, '{"task_id": []}', '{}', 'absorbed'),
        (11, '{}', '{"task_id": 42}', 'absorbed'),
        (12, '{"task_id": "42"}', '{"task_id": 42}', 'absorbed'),
        (13, '{"task_id": 42}', '{"task_id": "42"}', 'absorbed'),
        (14, '{"task_id": "42"}', '{"task_id": "42", "y": 2}', 'coalesced'),
        (15, '{"task_id": "42"}', '{"task_id": "43"}', 'absorbed'),
        (16, '{"task_id": "42"}', '{}', 'absorbed'),
        (17, '{"task_id": "less"}', '{"task_id": "LESS"}', 'absorbed')
) as t (step, first, second, outcome)
order by t.step;

select * from finish();
rollback;

begin;
select plan(11);

select dispatch_test.set_clock('2030-01-15 12:00:00+00');
select dispatch.put_workspace(dispatch_test.id(1), 'Works');
select dispatch.put_member(dispatch_test.id(1), dispatch_test.id(2), 'Ana');
select dispatch.put_runtime(dispatch_test.id(1), dispatch_test.id(3), 'daemon-1');
select dispatch.heartbeat(dispatch_test.id(1), array[dispatch_test.id(3)]);
select dispatch.put_agent(
    dispatch_test.id(1), dispatch_test.id(4), 'alpha', dispatch_test.id(2), dispatch_test.id(3)
);
insert into dispatch.issue (
    workspace_id, id, number, title, status, priority, creator_type, created_at, updated_at
)
select
    dispatch_test.id(1), dispatch_test.id(100 + n), n, 'issue', 'todo', 'none', 'system',
    dispatch.clock(), dispatch.clock()
from generate_series(1, 9) as n;

select dispatch.put_workspace(dispatch_test.id(7), 'Elsewhere');
insert into dispatch.issue (
    workspace_id, id, number, title, status, priority, creator_type, created_at, updated_at
)
values (
    dispatch_test.id(7), dispatch_test.id(201), 1, 'issue', 'todo', 'none', 'system',
    dispatch.clock(), dispatch.clock()
);

create function pg_temp.issue_of(p_payload jsonb, p_issue_id uuid default null)
returns uuid
language plpgsql
as $fn$
declare
    v_decision constant dispatch.decision := dispatch.queue_wake(
        dispatch_test.id(1), dispatch_test.id(4), 'mention', p_payload,
        p_issue_id => p_issue_id
    );
begin
    return (select r.issue_id from dispatch.runs as r where r.id = v_decision.run_id);
end;
$fn$;

select is(
    pg_temp.issue_of('{}', dispatch_test.id(101)),
    dispatch_test.id(101),
    'the issue is the one given'
);
select is(
    pg_temp.issue_of(jsonb_build_object('task_id', dispatch_test.id(102))),
    dispatch_test.id(102),
    'without one it is the one that the payload names'
);
select is(
    pg_temp.issue_of(
        jsonb_build_object('task_id', dispatch_test.id(103)), dispatch_test.id(103)
    ),
    dispatch_test.id(103),
    'both may name the same issue'
);
select is(
    pg_temp.issue_of('{"task_id": "t1"}', dispatch_test.id(104)),
    dispatch_test.id(104),
    'a task_id that names no issue does not contradict the argument'
);
select is(
    pg_temp.issue_of(
        jsonb_build_object('task_id', dispatch_test.id(201)), dispatch_test.id(105)
    ),
    dispatch_test.id(105),
    'nor does one that names an issue of another workspace'
);
select is(
    dispatch_test.error_of(
        $$
        select dispatch.queue_wake(
            dispatch_test.id(1), dispatch_test.id(4), 'mention',
            jsonb_build_object('task_id', dispatch_test.id(106)),
            p_issue_id => dispatch_test.id(107)
        )
        $$
    ),
    'PD400 p_issue_id',
    'two issues of the workspace contradict each other'
);
select is(
    pg_temp.issue_of(jsonb_build_object('task_id', dispatch_test.id(201))),
    null,
    'an issue of another workspace named by the payload is none'
);
select is(
    pg_temp.issue_of(jsonb_build_array(dispatch_test.id(108))),
    null,
    'a payload that is no object names none'
);
select is(
    dispatch_test.error_of(
        $$
        select dispatch.queue_wake(
            dispatch_test.id(1), dispatch_test.id(4), 'mention',
            p_issue_id => dispatch_test.id(201)
        )
        $$
    ),
    'PD404 p_issue_id',
    'an issue of another workspace given as argument is not found'
);
select is(
    dispatch_test.error_of(
        $$
        select dispatch.queue_wake(
            dispatch_test.id(1), dispatch_test.id(4), 'mention',
            p_issue_id => dispatch_test.id(999)
        )
        $$
    ),
    'PD404 p_issue_id',
    'nor is one that never existed'
);
select is(
    (select count(*) from dispatch.run as r where r.issue_id in (
        dispatch_test.id(106), dispatch_test.id(107), dispatch_test.id(201)
    )),
    0::bigint,
    'what was refused wrote nothing'
);

select * from finish();
rollback;

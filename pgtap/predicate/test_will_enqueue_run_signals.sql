begin;
select plan(25);
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

-- Asks about issue 100 as it is after the write; p_row replaces fields of it.
create function pg_temp.ask(
    p_row jsonb,
    p_prev text,
    p_is_create boolean default false,
    p_assigned boolean default false,
    p_actor_type text default 'user',
    p_actor integer default 11,
    p_acting_run integer default null,
    p_check boolean default false
)
returns text
language plpgsql
as $ask$
declare
    v_issue dispatch.issue := jsonb_populate_record(
        null::dispatch.issue,
        jsonb_build_object(
            'workspace_id', dispatch_test.id(1), 'id', dispatch_test.id(100),
            'status', 'todo', 'assignee_type', 'agent', 'assignee_id', dispatch_test.id(31)
        ) || p_row
    );
    v_will record;
begin
    select w.will_run, w.agent_id, w.squad_id, w.source, w.why
    into v_will
    from dispatch.will_enqueue_run(
        dispatch_test.id(1), v_issue, p_prev, p_is_create, p_assigned,
        v_issue.status is distinct from p_prev, p_actor_type, dispatch_test.id(p_actor),
        dispatch_test.id(p_acting_run), p_check
    ) as w;
    return concat_ws(
        ' ', case when v_will.will_run then 'run' else 'no' end, v_will.source, v_will.why,
        right(v_will.agent_id::text, 2), right(v_will.squad_id::text, 2)
    );
end;
$ask$;

select is(
    pg_temp.ask('{}', null, p_is_create => true), 'run assign 31',
    'created in todo: run'
);
select is(
    pg_temp.ask('{"status": "in_review"}', null, p_is_create => true), 'run assign 31',
    'created in review: run'
);
select is(
    pg_temp.ask('{"status": "done"}', null, p_is_create => true), 'run assign 31',
    'created done: run'
);
select is(
    pg_temp.ask('{"status": "backlog"}', null, p_is_create => true), 'no parked_in_backlog',
    'created in backlog: parked'
);
select is(pg_temp.ask('{}', 'todo', p_assigned => true), 'run assign 31', 'assigned: run');
select is(
    pg_temp.ask('{"status": "cancelled"}', 'cancelled', p_assigned => true), 'run assign 31',
    'assigned when cancelled: run'
);
select is(
    pg_temp.ask('{"status": "backlog"}', 'backlog', p_assigned => true), 'no parked_in_backlog',
    'assigned in backlog: parked'
);
select is(
    pg_temp.ask('{}', 'backlog', p_assigned => true), 'run assign 31',
    'assigned and promoted: one run, as an assignment'
);
select is(
    pg_temp.ask('{"status": "done"}', 'backlog', p_assigned => true), 'run assign 31',
    'assigned and closed out of backlog: an assignment still'
);
select is(
    pg_temp.ask('{"status": "backlog"}', 'todo', p_assigned => true), 'no parked_in_backlog',
    'assigned and moved to backlog: parked'
);
select is(
    pg_temp.ask('{"status": "todo"}', 'backlog'), 'run status 31',
    'backlog to todo: run'
);
select is(
    pg_temp.ask('{"status": "in_progress"}', 'backlog'), 'run status 31',
    'backlog to in_progress: run'
);
select is(
    pg_temp.ask('{"status": "in_review"}', 'backlog'), 'run status 31',
    'backlog to in_review: run'
);
select is(
    pg_temp.ask('{"status": "blocked"}', 'backlog'), 'run status 31',
    'backlog to blocked: run'
);
select is(pg_temp.ask('{"status": "done"}', 'backlog'), 'no closed', 'backlog to done: closed');
select is(
    pg_temp.ask('{"status": "cancelled"}', 'backlog'), 'no closed',
    'backlog to cancelled: closed'
);
select is(
    pg_temp.ask('{"status": "in_progress"}', 'todo'), 'no not_a_start_signal',
    'todo to in_progress: no signal'
);
select is(pg_temp.ask('{}', 'done'), 'no not_a_start_signal', 'reopened: no signal');
select is(
    pg_temp.ask('{}', 'todo'), 'no not_a_start_signal',
    'nothing of it changed: no signal'
);
select is(
    pg_temp.ask('{"status": "backlog"}', 'todo'), 'no parked_in_backlog',
    'back to backlog: parked'
);
select is(
    pg_temp.ask('{"assignee_type": null, "assignee_id": null}', null, p_is_create => true),
    'no no_assignee', 'created for nobody: no assignee'
);
select is(
    pg_temp.ask('{"assignee_type": null, "assignee_id": null}', 'todo', p_assigned => true),
    'no no_assignee', 'unassigned: no assignee'
);
select is(
    pg_temp.ask('{"assignee_type": null, "assignee_id": null}', 'backlog'), 'no no_assignee',
    'promoted for nobody: no assignee'
);
select is(
    pg_temp.ask('{"assignee_type": "member"}', 'todo', p_assigned => true),
    'no member_assignee', 'a person needs no run'
);
select is(
    pg_temp.ask('{"assignee_type": "member", "status": "backlog"}', 'todo'),
    'no member_assignee', 'a person first, then backlog'
);

select * from finish();
rollback;

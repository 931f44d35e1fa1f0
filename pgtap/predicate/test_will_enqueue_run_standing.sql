begin;
select plan(35);
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

-- Makes run 61 the only one: of agent 31 on issue p_issue, in a given state.
create function pg_temp.standing(p_status dispatch.run_status, p_issue integer default 100)
returns void
language plpgsql
as $standing$
begin
    delete from dispatch.run;
    insert into dispatch.run (
        workspace_id, id, agent_id, runtime_id, issue_id, lane, status, requested_at, fire_at,
        finished_at
    )
    values (
        dispatch_test.id(1), dispatch_test.id(61), dispatch_test.id(31), dispatch_test.id(21),
        dispatch_test.id(p_issue), dispatch_test.id(p_issue), p_status, dispatch.clock(),
        case when p_status = 'deferred' then dispatch.clock() end,
        case when p_status in ('completed', 'failed', 'cancelled') then dispatch.clock() end
    );
end;
$standing$;

select dispatch.put_squad(
    dispatch_test.id(1), dispatch_test.id(41), 'Squad', dispatch_test.id(31)
);

-- What replaces agent 31 as assignee: squad 41, which it leads, or agent 32.
create function pg_temp.squad()
returns jsonb
language sql
as $squad$
select jsonb_build_object('assignee_type', 'squad', 'assignee_id', dispatch_test.id(41));
$squad$;

create function pg_temp.other()
returns jsonb
language sql
as $other$
select jsonb_build_object('assignee_id', dispatch_test.id(32));
$other$;

select pg_temp.standing('queued');
select is(
    pg_temp.ask('{}', 'backlog'), 'no already_pending',
    'promotion, queued run: pending already'
);
select is(
    pg_temp.ask(pg_temp.squad(), 'backlog'), 'no already_pending',
    'promotion, queued run of the leader: pending already'
);
select is(
    pg_temp.ask(pg_temp.other(), 'backlog'), 'run status 32',
    'promotion, queued run of another agent: run'
);
select is(
    pg_temp.ask('{}', 'todo', p_assigned => true), 'run assign 31',
    'assignment, queued run: left to admission'
);
select is(
    pg_temp.ask('{}', 'todo', false, true, 'agent', 31), 'no active_self_assignment',
    'own assignment, queued run: active already'
);

select pg_temp.standing('dispatched');
select is(
    pg_temp.ask('{}', 'backlog'), 'no already_pending',
    'promotion, dispatched run: pending already'
);
select is(
    pg_temp.ask(pg_temp.squad(), 'backlog'), 'no already_pending',
    'promotion, dispatched run of the leader: pending already'
);
select is(
    pg_temp.ask(pg_temp.other(), 'backlog'), 'run status 32',
    'promotion, dispatched run of another agent: run'
);
select is(
    pg_temp.ask('{}', 'todo', p_assigned => true), 'run assign 31',
    'assignment, dispatched run: left to admission'
);
select is(
    pg_temp.ask('{}', 'todo', false, true, 'agent', 31), 'no active_self_assignment',
    'own assignment, dispatched run: active already'
);

select pg_temp.standing('waiting_local_directory');
select is(
    pg_temp.ask('{}', 'backlog'), 'run status 31',
    'promotion, waiting_local_directory run: run'
);
select is(
    pg_temp.ask('{}', 'todo', false, true, 'agent', 31), 'no active_self_assignment',
    'own assignment, waiting_local_directory run: active already'
);

select pg_temp.standing('running');
select is(pg_temp.ask('{}', 'backlog'), 'run status 31', 'promotion, running run: run');
select is(
    pg_temp.ask('{}', 'todo', false, true, 'agent', 31), 'no active_self_assignment',
    'own assignment, running run: active already'
);

select pg_temp.standing('deferred');
select is(pg_temp.ask('{}', 'backlog'), 'run status 31', 'promotion, deferred run: run');
select is(
    pg_temp.ask('{}', 'todo', false, true, 'agent', 31), 'run assign 31',
    'own assignment, deferred run: run'
);

select pg_temp.standing('completed');
select is(pg_temp.ask('{}', 'backlog'), 'run status 31', 'promotion, completed run: run');
select is(
    pg_temp.ask('{}', 'todo', false, true, 'agent', 31), 'run assign 31',
    'own assignment, completed run: run'
);

select pg_temp.standing('failed');
select is(pg_temp.ask('{}', 'backlog'), 'run status 31', 'promotion, failed run: run');
select is(
    pg_temp.ask('{}', 'todo', false, true, 'agent', 31), 'run assign 31',
    'own assignment, failed run: run'
);

select pg_temp.standing('cancelled');
select is(pg_temp.ask('{}', 'backlog'), 'run status 31', 'promotion, cancelled run: run');
select is(
    pg_temp.ask('{}', 'todo', false, true, 'agent', 31), 'run assign 31',
    'own assignment, cancelled run: run'
);

select pg_temp.standing('running');
select is(
    pg_temp.ask('{}', null, true, true, 'agent', 31), 'run assign 31',
    'a creation is never an own assignment'
);
select is(
    pg_temp.ask(pg_temp.squad(), 'todo', false, true, 'agent', 31), 'run assign 31 41',
    'nor is the assignment of a squad by its leader'
);
select is(
    pg_temp.ask(pg_temp.other(), 'todo', false, true, 'agent', 31), 'run assign 32',
    'nor the assignment of another agent'
);
select is(
    pg_temp.ask('{}', 'todo', false, true, 'user', 31), 'run assign 31',
    'nor one by a person'
);
select is(
    pg_temp.ask('{}', 'backlog', false, false, 'agent', 31, 61), 'no self_loop',
    'an agent does not start itself again on its run''s issue'
);
select is(
    pg_temp.ask('{}', 'backlog', false, false, 'agent', 32, 61), 'no self_loop',
    'whichever agent says so'
);
select is(
    pg_temp.ask('{}', 'backlog', false, false, 'agent', 31), 'run status 31',
    'without an acting run there is no loop'
);
select is(
    pg_temp.ask('{}', 'backlog', false, false, 'agent', 31, 62), 'run status 31',
    'nor with an unknown one'
);
select is(
    pg_temp.ask('{}', 'backlog', false, false, 'user', 11, 61), 'run status 31',
    'nor for a person'
);
select is(
    pg_temp.ask('{"status": "done"}', 'backlog', false, false, 'agent', 31, 61), 'no closed',
    'closed is told before the loop'
);
select is(
    pg_temp.ask('{}', null, true, true, 'agent', 31, 61), 'run assign 31',
    'no loop in a creation'
);
select is(
    pg_temp.ask(pg_temp.other(), 'backlog', false, true, 'agent', 31, 61), 'run assign 32',
    'no loop in an assignment'
);

select pg_temp.standing('running', 101);
select is(
    pg_temp.ask('{}', 'backlog', false, false, 'agent', 31, 61), 'run status 31',
    'an agent may promote another issue of its own'
);

select * from finish();
rollback;

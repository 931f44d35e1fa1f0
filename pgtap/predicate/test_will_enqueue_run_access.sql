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

-- Agent 33 is private and archived, 34 open to the workspace, 35 open to member 12.
select dispatch.put_agent(
    dispatch_test.id(1), dispatch_test.id(a.number), 'Agent', dispatch_test.id(11),
    dispatch_test.id(21), a.permission
)
from (values (33, 'private'), (34, 'public_to'), (35, 'public_to')) as a (number, permission);
select dispatch.grant_invoke(dispatch_test.id(1), dispatch_test.id(34), 'workspace');
select dispatch.grant_invoke(
    dispatch_test.id(1), dispatch_test.id(35), 'member', dispatch_test.id(12)
);
select dispatch.archive_agent(dispatch_test.id(1), dispatch_test.id(33));
select dispatch.put_squad(
    dispatch_test.id(1), dispatch_test.id(41), 'Squad', dispatch_test.id(31)
);
-- Run 61 of agent 32 acts for member 11, run 62 of agent 32 for nobody.
insert into dispatch.run (
    workspace_id, id, agent_id, runtime_id, lane, status, requested_at
)
select
    dispatch_test.id(1), dispatch_test.id(n), dispatch_test.id(32), dispatch_test.id(21),
    dispatch_test.id(n), 'running', dispatch.clock()
from generate_series(61, 62) as n;
insert into dispatch.run_detail (
    workspace_id, run_id, requested_at, reason, source, payload, actor_type, originator_id,
    accountable_id, attribution_source
)
values
(
    dispatch_test.id(1), dispatch_test.id(61), dispatch.clock(), 'r', 'wake', '{}', 'user',
    dispatch_test.id(11), dispatch_test.id(11), 'direct_human'
),
(
    dispatch_test.id(1), dispatch_test.id(62), dispatch.clock(), 'r', 'wake', '{}', 'system',
    null, dispatch_test.id(11), 'owner_fallback'
);

create function pg_temp.may(
    p_assignee integer,
    p_actor_type text,
    p_actor integer,
    p_acting_run integer default null,
    p_type text default 'agent'
)
returns text
language sql
as $may$
select pg_temp.ask(
    jsonb_build_object('assignee_type', p_type, 'assignee_id', dispatch_test.id(p_assignee)),
    'todo', false, true, p_actor_type, p_actor, p_acting_run, true
);
$may$;

select is(pg_temp.may(31, 'user', 11), 'run assign 31', 'the owner may');
select is(pg_temp.may(31, 'user', 12), 'no not_invocable', 'another member may not');
select is(
    pg_temp.may(34, 'user', 12), 'run assign 34',
    'a workspace grant opens it to members'
);
select is(pg_temp.may(35, 'user', 12), 'run assign 35', 'a member grant to that member');
select is(
    pg_temp.may(31, 'agent', 32, 61), 'run assign 31',
    'an agent may what its run''s originator may'
);
select is(
    pg_temp.may(31, 'agent', 32, 62), 'no not_invocable',
    'an agent that acts for nobody may not'
);
select is(pg_temp.may(31, 'agent', 32), 'no not_invocable', 'nor one without a run');
select is(pg_temp.may(31, 'system', null), 'no not_invocable', 'nor the system');
select is(
    pg_temp.may(34, 'system', null), 'run assign 34',
    'a workspace grant admits the system'
);
select is(
    pg_temp.may(41, 'user', 11, null, 'squad'), 'run assign 31 41',
    'a squad is judged by its leader: allowed'
);
select is(
    pg_temp.may(41, 'user', 12, null, 'squad'), 'no not_invocable',
    'a squad is judged by its leader: refused'
);
select is(
    pg_temp.may(33, 'user', 12), 'no not_invocable',
    'who may not invoke it does not learn that it is archived'
);
select is(pg_temp.may(33, 'user', 11), 'no archived', 'who may, does');
select is(pg_temp.may(77, 'user', 11), 'no not_invocable', 'an unknown agent is refused alike');
select is(
    pg_temp.ask('{}', 'todo', false, true, 'user', 12), 'run assign 31',
    'a write asks the gate for itself'
);

create function pg_temp.todo()
returns dispatch.issue
language sql
as $todo$
select jsonb_populate_record(null::dispatch.issue, '{"status": "todo"}');
$todo$;

create function pg_temp.bad(p_arguments text)
returns text
language sql
as $bad$
select dispatch_test.error_of(
    'select w.will_run from dispatch.will_enqueue_run(' || p_arguments || ') as w'
);
$bad$;

select is(
    pg_temp.bad($$null, pg_temp.todo(), null, true, true, true, 'user'$$),
    'PD400 p_workspace_id', 'no workspace'
);
select is(
    pg_temp.bad($$dispatch_test.id(1), null, null, true, true, true, 'user'$$),
    'PD400 p_issue', 'no issue'
);
select is(
    pg_temp.bad($$dispatch_test.id(1), pg_temp.todo(), null, null, true, true, 'user'$$),
    'PD400 p_is_create', 'no create flag'
);
select is(
    pg_temp.bad($$dispatch_test.id(1), pg_temp.todo(), null, true, null, true, 'user'$$),
    'PD400 p_assignee_changed', 'no assignee flag'
);
select is(
    pg_temp.bad($$dispatch_test.id(1), pg_temp.todo(), null, true, true, null, 'user'$$),
    'PD400 p_status_changed', 'no status flag'
);
select is(
    pg_temp.bad($$dispatch_test.id(1), pg_temp.todo(), null, true, true, true, null$$),
    'PD400 p_actor_type', 'no actor type'
);
select is(
    pg_temp.bad($$
        dispatch_test.id(1), pg_temp.todo(), null, true, true, true,
        'user', null, null, null
    $$),
    'PD400 p_check_access', 'no access flag'
);
select is(
    dispatch_test.error_of($$select pg_temp.may(31, 'agent', 31, 61)$$),
    'PD403 p_acting_run_id attribution_blocked', 'the run of another agent'
);
select is(
    dispatch_test.error_of($$select pg_temp.may(31, 'user', 77)$$), 'PD403 p_actor_id',
    'an actor that is no member'
);
select is(
    (
        select array_agg(p.proname order by p.proname)
        from pg_proc as p
        where p.pronamespace = 'dispatch'::regnamespace
            and p.proname in (
                'will_enqueue_run', '_start_signal', '_run_target', '_standing_run'
            )
            and p.provolatile = 's'
            and p.prosrc !~ 'clock'
    ),
    array['_run_target', '_standing_run', '_start_signal', 'will_enqueue_run']::name[],
    'the predicate can write nothing and reads no clock'
);

select * from finish();
rollback;

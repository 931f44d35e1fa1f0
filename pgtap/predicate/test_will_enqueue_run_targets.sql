begin;
select plan(31);
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

-- Agents as their numbers say, and squad 4N led by agent 3N.
select dispatch.put_runtime(dispatch_test.id(1), dispatch_test.id(22), 'daemon');
select dispatch.put_runtime(dispatch_test.id(1), dispatch_test.id(23), 'daemon');
select dispatch.set_runtime_offline(
    dispatch_test.id(1), dispatch_test.id(23), 'not_executable'
);
select dispatch.put_agent(
    dispatch_test.id(1), dispatch_test.id(a.number), a.name, dispatch_test.id(11),
    dispatch_test.id(a.runtime)
)
from (
    values
    (33, 'Offline', 22), (34, 'Unbound', null), (35, 'Archived', 21), (36, 'Unusable', 23),
    (37, 'Archived and unbound', null), (38, 'Paused', 21)
) as a (number, name, runtime);
select dispatch.put_squad(
    dispatch_test.id(1), dispatch_test.id(10 + a), 'Squad', dispatch_test.id(a)
)
from generate_series(31, 38) as a;
select dispatch.archive_agent(dispatch_test.id(1), dispatch_test.id(a))
from unnest(array[35, 37]) as a;
select dispatch.set_agent_status(dispatch_test.id(1), dispatch_test.id(38), 'paused');
select dispatch.archive_squad(dispatch_test.id(1), dispatch_test.id(42));

create function pg_temp.assign(p_type text, p_id integer)
returns text
language sql
as $assign$
select pg_temp.ask(
    jsonb_build_object('assignee_type', p_type, 'assignee_id', dispatch_test.id(p_id)), 'todo',
    p_assigned => true
);
$assign$;

create function pg_temp.promote(p_type text, p_id integer)
returns text
language sql
as $promote$
select pg_temp.ask(
    jsonb_build_object('assignee_type', p_type, 'assignee_id', dispatch_test.id(p_id)),
    'backlog'
);
$promote$;

select is(pg_temp.assign('agent', 31), 'run assign 31', 'assign: an online agent runs');
select is(
    pg_temp.assign('agent', 33), 'run assign 33',
    'assign: an offline agent runs, its run waits'
);
select is(
    pg_temp.assign('agent', 34), 'no unbound',
    'assign: an agent without runtime does not'
);
select is(pg_temp.assign('agent', 35), 'no archived', 'assign: an archived agent does not');
select is(
    pg_temp.assign('agent', 36), 'no runtime_unusable',
    'assign: an agent on an unusable runtime does not'
);
select is(
    pg_temp.assign('agent', 37), 'no archived',
    'assign: archived is told before unbound'
);
select is(
    pg_temp.assign('agent', 38), 'run assign 38',
    'assign: a paused agent is left to admission'
);
select is(pg_temp.assign('agent', 77), 'no unbound', 'assign: an unknown agent does not');
select is(
    pg_temp.assign('squad', 41), 'run assign 31 41',
    'assign: a squad runs by its leader'
);
select is(
    pg_temp.assign('squad', 42), 'no squad_unavailable',
    'assign: an archived squad does not'
);
select is(
    pg_temp.assign('squad', 43), 'no leader_offline',
    'assign: a squad needs its leader online'
);
select is(
    pg_temp.assign('squad', 44), 'no unbound',
    'assign: a leader without runtime does not run'
);
select is(
    pg_temp.assign('squad', 45), 'no squad_unavailable',
    'assign: a squad with an archived leader does not'
);
select is(
    pg_temp.assign('squad', 46), 'no runtime_unusable',
    'assign: a leader on an unusable runtime does not'
);
select is(
    pg_temp.assign('squad', 77), 'no squad_unavailable',
    'assign: an unknown squad does not'
);
select is(pg_temp.promote('agent', 31), 'run status 31', 'promote: an online agent runs');
select is(
    pg_temp.promote('agent', 33), 'run status 33',
    'promote: an offline agent runs, its run waits'
);
select is(
    pg_temp.promote('agent', 34), 'no unbound',
    'promote: an agent without runtime does not'
);
select is(pg_temp.promote('agent', 35), 'no archived', 'promote: an archived agent does not');
select is(
    pg_temp.promote('agent', 36), 'no runtime_unusable',
    'promote: an agent on an unusable runtime does not'
);
select is(
    pg_temp.promote('agent', 37), 'no archived',
    'promote: archived is told before unbound'
);
select is(
    pg_temp.promote('agent', 38), 'run status 38',
    'promote: a paused agent is left to admission'
);
select is(pg_temp.promote('agent', 77), 'no unbound', 'promote: an unknown agent does not');
select is(
    pg_temp.promote('squad', 41), 'run status 31 41',
    'promote: a squad runs by its leader'
);
select is(
    pg_temp.promote('squad', 42), 'no squad_unavailable',
    'promote: an archived squad does not'
);
select is(
    pg_temp.promote('squad', 43), 'no leader_offline',
    'promote: a squad needs its leader online'
);
select is(
    pg_temp.promote('squad', 44), 'no unbound',
    'promote: a leader without runtime does not run'
);
select is(
    pg_temp.promote('squad', 45), 'no squad_unavailable',
    'promote: a squad with an archived leader does not'
);
select is(
    pg_temp.promote('squad', 46), 'no runtime_unusable',
    'promote: a leader on an unusable runtime does not'
);
select is(
    pg_temp.promote('squad', 77), 'no squad_unavailable',
    'promote: an unknown squad does not'
);

select dispatch_test.advance_clock(dispatch.runtime_freshness() + interval '1 hour');
select is(
    pg_temp.assign('squad', 41), 'run assign 31 41',
    'the stored status of the leader counts, not the age of its last heartbeat'
);

select * from finish();
rollback;

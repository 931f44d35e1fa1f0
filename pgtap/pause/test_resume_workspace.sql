begin;
select plan(9);

select dispatch_test.set_clock('2030-01-15 12:00:00+00');
select dispatch.put_workspace(dispatch_test.id(1), 'Works');
select dispatch.put_member(dispatch_test.id(1), dispatch_test.id(2), 'Ana');
select dispatch.put_runtime(dispatch_test.id(1), dispatch_test.id(3), 'daemon-1');
select dispatch.heartbeat(dispatch_test.id(1), array[dispatch_test.id(3)]);
select dispatch.put_agent(
    dispatch_test.id(1), dispatch_test.id(10 + n), 'agent ' || n, dispatch_test.id(2),
    dispatch_test.id(3)
)
from generate_series(1, 12) as n;
insert into dispatch.issue (
    workspace_id, id, number, title, status, priority, creator_type, created_at, updated_at
)
select
    dispatch_test.id(1), dispatch_test.id(100 + n), n, 'issue', 'todo', 'none', 'system',
    dispatch.clock(), dispatch.clock()
from generate_series(1, 3) as n;

create function pg_temp.refusal(p_reason text, p_type text, p_actor uuid default null)
returns text
language sql
as $fn$
    select dispatch_test.error_of(format(
        'select dispatch.resume_workspace(%L, %L, %L, p_reason => %L)', dispatch_test.id(1),
        p_type, p_actor, p_reason
    ));
$fn$;
select is(
    dispatch.resume_workspace(dispatch_test.id(1), 'system'), false,
    'a workspace that is not paused stays so'
);
select dispatch.pause_workspace(dispatch_test.id(1), 'system', p_reason => 'halt');
select is(
    pg_temp.refusal(repeat('x', 501), 'system'), 'PD400 p_reason', 'the reason may be too long'
);
select is(
    pg_temp.refusal('x', 'agent', dispatch_test.id(11)), 'PD403 p_actor_type',
    'an agent may not resume'
);
select is(
    pg_temp.refusal('x', 'user', dispatch_test.id(77)), 'PD403 p_actor_id',
    'nor may who is no member'
);
select is(
    dispatch_test.error_of(format(
        'select dispatch.resume_workspace(%L, ''system'')', dispatch_test.id(9)
    )),
    'PD404 p_workspace_id',
    'an unknown workspace cannot be resumed'
);
select is(
    (select count(*) from dispatch.workspace_pause as p where p.released_at is null), 1::bigint,
    'no refusal ends the pause'
);
select is(
    dispatch.resume_workspace(
        dispatch_test.id(1), 'user', dispatch_test.id(2), p_reason => '  '
    ),
    true,
    'a member resumes, with a blank reason'
);
select results_eq(
    $$
    select p.released_at, p.released_by_type, p.released_by_id, p.release_reason
    from dispatch.workspace_pause as p
    $$,
    $$select dispatch.clock(), 'user', dispatch_test.id(2), null::text$$,
    'which is stored as none'
);
select is(
    dispatch.resume_workspace(dispatch_test.id(1), 'system'), false,
    'a repeat ends nothing'
);

select * from finish();
rollback;

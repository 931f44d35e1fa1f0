begin;
select plan(16);

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

create function pg_temp.pause(
    p_reason text,
    p_type text default 'system',
    p_actor integer default null
)
returns boolean
language sql
as $fn$
    select dispatch.pause_workspace(
        dispatch_test.id(1), p_type, dispatch_test.id(p_actor), p_reason => p_reason
    );
$fn$;
create function pg_temp.refusal(p_reason text, p_type text, p_actor uuid default null)
returns text
language sql
as $fn$
    select dispatch_test.error_of(format(
        'select dispatch.pause_workspace(%L, %L, %L, p_reason => %L)', dispatch_test.id(1),
        p_type, p_actor, p_reason
    ));
$fn$;

select is(
    pg_temp.refusal(t.reason, 'system'), t.error, 'the reason ' || t.what
)
from (
    values
        (1, null, 'PD400 p_reason', 'may not be NULL'),
        (2, '', 'PD400 p_reason', 'may not be empty'),
        (3, e' \t\r\n ', 'PD400 p_reason', 'may not be blank'),
        (4, repeat('é', 501), 'PD400 p_reason', 'has 500 characters at most')
) as t (step, reason, error, what)
order by t.step;
select is(pg_temp.refusal('x', null), 'PD400 p_actor_type', 'somebody has to act');
select is(pg_temp.refusal('x', 'robot'), 'PD400 p_actor_type', 'in a known role');
select is(
    pg_temp.refusal('x', 'agent', dispatch_test.id(11)), 'PD403 p_actor_type',
    'an agent may not pause'
);
select is(
    pg_temp.refusal('', 'agent', dispatch_test.id(11)), 'PD400 p_reason',
    'arguments are checked before rights'
);
select is(
    pg_temp.refusal('x', 'user', dispatch_test.id(77)), 'PD403 p_actor_id',
    'nor may who is no member'
);
select is(
    dispatch_test.error_of(format(
        'select dispatch.pause_workspace(%L, ''system'', p_reason => ''x'')',
        dispatch_test.id(9)
    )),
    'PD404 p_workspace_id',
    'an unknown workspace cannot be paused'
);
select is_empty(
    'select from dispatch.workspace_pause as p', 'no refusal leaves a record'
);

select is(
    pg_temp.pause(e' \t' || repeat('é', 500) || e'\n', 'user', 2), true, 'a member pauses'
);
select dispatch_test.advance_clock(interval '1 minute');
select is(pg_temp.pause('again'), false, 'T114: a repeat says that it was paused already');
select results_eq(
    $$
    select
        p.reason, p.paused_at, p.paused_by_type, p.paused_by_id, p.released_at
    from dispatch.workspace_pause as p
    $$,
    $$
    select
        repeat('é', 500), '2030-01-15 12:00:00+00'::timestamptz, 'user', dispatch_test.id(2),
        null::timestamptz
    $$,
    'T114: and keeps the first record, trimmed'
);
select is(
    dispatch.resume_workspace(dispatch_test.id(1), 'system', p_reason => 'go')::text
    || pg_temp.pause('once more')::text,
    'truetrue',
    'after a resume it can be paused again'
);
select results_eq(
    $$
    select p.reason = 'once more', p.released_at, p.released_by_type, p.release_reason
    from dispatch.workspace_pause as p
    order by p.id
    $$,
    $$
    values
        (false, '2030-01-15 12:01:00+00'::timestamptz, 'system', 'go'),
        (true, null, null, null)
    $$,
    'records are added and only their release is written'
);

select * from finish();
rollback;

begin;
select plan(17);
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

select dispatch.put_squad(
    dispatch_test.id(1), dispatch_test.id(41), 'Squad', dispatch_test.id(32)
);
select dispatch.put_agent(
    dispatch_test.id(1), dispatch_test.id(a.id), 'Agent', dispatch_test.id(11),
    dispatch_test.id(a.runtime)
)
from (values (33, 21), (34, null), (35, 21)) as a (id, runtime);
select dispatch.archive_agent(dispatch_test.id(1), dispatch_test.id(33));
select dispatch.set_agent_status(dispatch_test.id(1), dispatch_test.id(35), 'paused');

create function pg_temp.preview(
    p_changes jsonb, p_actor_type text default 'user', p_actor integer default 11
)
returns text
language sql
as $fn$
select concat_ws(
    ' ', coalesce(p.issue_id::text, '-'), p.will_run, p.outcome, p.reason_code,
    right(p.agent_id::text, 2), p.source, p.detail ->> 'why'
)
from dispatch.preview_create(
    dispatch_test.id(1), p_changes, p_actor_type, dispatch_test.id(p_actor)
) as p;
$fn$;

select is(pg_temp.preview(t.changes, t.kind, t.actor), t.answer, t.what)
from (
    values
        (1, '{}'::jsonb, 'user', 11, '- f none not_triggered no_assignee',
            'nobody is assigned'),
        (2, pg_temp.to(31), 'user', 11, '- t queued queued 31 assign',
            'an agent, todo being the status when none is given'),
        (3, pg_temp.to(31) || '{"status": "backlog", "priority": "high", "title": "T"}',
            'user', 11, '- f none not_triggered parked_in_backlog', 'backlog'),
        (4, pg_temp.to(31) || '{"status": "done"}', 'user', 11,
            '- t queued queued 31 assign', 'done starts as well'),
        (5, pg_temp.to(41, 'squad'), 'user', 11, '- t queued queued 32 assign',
            'a squad: its leader'),
        (6, pg_temp.to(12, 'member'), 'user', 11, '- f none not_triggered member_assignee',
            'a member'),
        (7, pg_temp.to(34), 'user', 11, '- f none not_triggered unbound',
            'an agent without runtime'),
        (8, pg_temp.to(35), 'user', 11, '- f blocked agent_not_runnable 35 assign',
            'an agent that is paused'),
        (9, pg_temp.to(33), 'user', 11, '- f blocked target_unavailable',
            'an archived agent, which is not named'),
        (10, pg_temp.to(31), 'user', 12, '- f blocked invocation_not_allowed',
            'an agent that is not open to the actor'),
        (11, pg_temp.to(33), 'user', 12, '- f blocked invocation_not_allowed',
            'whether it is archived stays hidden from them'),
        (12, pg_temp.to(77), 'user', 12, '- f blocked invocation_not_allowed',
            'as it is when there is no such agent'),
        (13, pg_temp.to(41, 'squad'), 'user', 12, '- f blocked invocation_not_allowed',
            'a squad whose leader is not open to the actor'),
        (14, pg_temp.to(31), 'system', null, '- f blocked invocation_not_allowed',
            'the system acts for nobody')
) as t (n, changes, kind, actor, answer, what)
order by t.n;
select dispatch.pause_workspace(
    dispatch_test.id(1), 'user', dispatch_test.id(11), p_reason => 'Stop'
);
select is(
    pg_temp.preview(pg_temp.to(31)), '- f blocked paused 31 assign', 'a paused workspace'
);
select is((select count(*) from dispatch.issue), 0::bigint, 'no issue was made');
select is(
    (
        select concat_ws(' ', w.issue_counter, (select count(*) from dispatch.gate_event))
        from dispatch.workspace as w
    ),
    '0 0', 'no number was taken and nothing was counted'
);

select * from finish();
rollback;

begin;
select plan(15);
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

-- What a write of each source asks, one cell an assertion. Issue 100 and the run there are
-- 31's.
select dispatch.create_issue(
    dispatch_test.id(1), 'Asked', 'user', dispatch_test.id(11),
    p_assignee_type => 'agent', p_assignee_id => dispatch_test.id(31),
    p_issue_id => dispatch_test.id(100)
);

create function pg_temp.why(
    p_source text,
    p_status text,
    p_prev text,
    p_actor_type text default 'user',
    p_actor integer default 11,
    p_is_inside boolean default false
)
returns text
language plpgsql
as $fn$
declare
    v_issue dispatch.issue;
begin
    v_issue.workspace_id := dispatch_test.id(1);
    v_issue.id := dispatch_test.id(100);
    v_issue.status := p_status;
    v_issue.assignee_type := 'agent';
    v_issue.assignee_id := dispatch_test.id(31);
    return coalesce(
        (
            select w.why
            from dispatch.will_enqueue_run(
                dispatch_test.id(1), v_issue, p_prev, p_source = 'create', p_source = 'assign',
                p_status is distinct from p_prev, p_actor_type, dispatch_test.id(p_actor),
                case when p_is_inside then (select r.id from dispatch.run as r) end, false
            ) as w
        ),
        'runs'
    );
end;
$fn$;

-- The pair's run is out of the way of the first nine cells.
update dispatch.run set status = 'running', claim_no = 1;
select is(
    pg_temp.why(t.source, t.status, t.prev, t.actor_type, t.actor, t.is_inside), t.why, t.what
)
from (
    values
        (1, 'status', 'backlog', 'todo', 'user', 11, false, 'parked_in_backlog',
            'status: backlog blocks'),
        (2, 'assign', 'backlog', 'backlog', 'user', 11, false, 'parked_in_backlog',
            'assign: backlog blocks'),
        (3, 'create', 'backlog', null, 'user', 11, false, 'parked_in_backlog',
            'create: backlog blocks'),
        (4, 'status', 'done', 'backlog', 'user', 11, false, 'closed', 'status: done blocks'),
        (5, 'assign', 'done', 'done', 'user', 11, false, 'runs', 'assign: done does not'),
        (6, 'create', 'done', null, 'user', 11, false, 'runs', 'create: done does not'),
        (7, 'status', 'todo', 'backlog', 'agent', 31, true, 'self_loop',
            'status: self-loop is asked'),
        (8, 'assign', 'todo', 'todo', 'agent', 32, true, 'runs', 'assign: it is not'),
        (9, 'create', 'todo', null, 'agent', 31, true, 'runs', 'create: it is not'),
        (10, 'status', 'todo', 'backlog', 'agent', 31, false, 'runs',
            'status: active self-assignment is not asked'),
        (11, 'assign', 'todo', 'todo', 'agent', 31, false, 'active_self_assignment',
            'assign: it is'),
        (12, 'create', 'todo', null, 'agent', 31, false, 'runs', 'create: it is not')
) as t (n, source, status, prev, actor_type, actor, is_inside, why, what)
order by t.n;

update dispatch.run set status = 'queued', claim_no = 0;
select is(pg_temp.why(t.source, 'todo', t.prev), t.why, t.what)
from (
    values
        (1, 'status', 'backlog', 'already_pending', 'status: a pending run is asked for'),
        (2, 'assign', 'todo', 'runs', 'assign: it is not'),
        (3, 'create', null, 'runs', 'create: it is not')
) as t (n, source, prev, why, what)
order by t.n;

select * from finish();
rollback;

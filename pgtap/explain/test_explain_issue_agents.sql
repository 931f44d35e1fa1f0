begin;
select plan(12);
select dispatch_test.set_clock('2030-01-15 12:00:00+00');

-- Agents: 31 as it should be, 32 unbound, 33 archived, 34 on a silent runtime. Squads led by
-- 31, 33 and 34, and one that is archived.
select dispatch.put_workspace(dispatch_test.id(1), 'Board', 'ABC');
select dispatch.put_member(dispatch_test.id(1), dispatch_test.id(11), 'Owner');
select dispatch.put_runtime(dispatch_test.id(1), dispatch_test.id(21), 'daemon');
select dispatch.put_runtime(dispatch_test.id(1), dispatch_test.id(22), 'silent');
select dispatch.heartbeat(dispatch_test.id(1), array[dispatch_test.id(21)]);
select dispatch.put_agent(
    dispatch_test.id(1), dispatch_test.id(a.id), 'Agent', dispatch_test.id(11),
    dispatch_test.id(a.runtime)
)
from (values (31, 21), (32, null), (33, 21), (34, 22)) as a (id, runtime);
select dispatch.put_squad(
    dispatch_test.id(1), dispatch_test.id(s.id), 'Squad', dispatch_test.id(s.leader)
)
from (values (41, 31), (43, 33), (44, 34), (45, 31)) as s (id, leader);
select dispatch.create_issue(
    dispatch_test.id(1), 'Explained', 'user', dispatch_test.id(11), p_status => 'backlog',
    p_assignee_type => i.kind, p_assignee_id => dispatch_test.id(i.assignee),
    p_issue_id => dispatch_test.id(100 + i.assignee)
)
from (
    values
        ('agent', 31), ('agent', 32), ('agent', 33), ('agent', 34), ('squad', 41),
        ('squad', 43), ('squad', 44), ('squad', 45)
) as i (kind, assignee);
update dispatch.issue set status = 'todo';
select dispatch.archive_agent(dispatch_test.id(1), dispatch_test.id(33));
select dispatch.archive_squad(dispatch_test.id(1), dispatch_test.id(45));

create function pg_temp.explain(p_issue integer) returns text
language sql
as $fn$
select string_agg(
    concat_ws(' ', e.step || ':', e.reason_code, e.detail ->> 'why'), ', ' order by e.ordinality
) filter (where not e.ok and e.step <> 'queue')
from dispatch.explain_issue(dispatch_test.id(1), dispatch_test.id(100 + p_issue))
with ordinality as e;
$fn$;

select is(pg_temp.explain(t.issue), t.answer, t.what)
from (
    values
        (1, 31, null, 'an agent as it should be'),
        (2, 32,
            'target: not_triggered unbound, agent: agent_runtime_required, '
            'runtime: agent_runtime_required', 'an agent without runtime'),
        (3, 33, 'target: not_triggered archived, agent: target_unavailable',
            'an archived agent'),
        (4, 34, 'runtime: runtime_offline', 'an agent whose runtime is silent'),
        (5, 41, null, 'a squad'),
        (6, 43, 'target: not_triggered squad_unavailable, agent: target_unavailable',
            'a squad whose leader is archived'),
        (7, 44, 'target: not_triggered leader_offline, runtime: runtime_offline',
            'a squad whose leader is offline'),
        (8, 45, 'target: not_triggered squad_unavailable', 'an archived squad')
) as t (n, issue, answer, what)
order by t.n;
select is(
    (
        select right(e.detail ->> 'agent_id', 2)
        from dispatch.explain_issue(dispatch_test.id(1), dispatch_test.id(141)) as e
        where e.step = 'target'
    ),
    '31', 'a squad''s work is its leader''s'
);

-- Agents have an allowance; the workspace can forbid work for which nobody answers.
select dispatch.create_issue(
    dispatch_test.id(1), 'By nobody', 'system', p_issue_id => dispatch_test.id(150)
);
update dispatch.issue
set assignee_type = 'agent', assignee_id = dispatch_test.id(31)
where id = dispatch_test.id(150);
select is(pg_temp.explain(50), null, 'the owner of the agent answers for it');
select dispatch.put_workspace(
    dispatch_test.id(1), 'Board', p_attribution_policy => 'fail_closed'
);
select is(
    pg_temp.explain(50), 'attribution: attribution_blocked', 'unless that is forbidden'
);
insert into dispatch.run (
    workspace_id, id, agent_id, issue_id, lane, status, requested_at, finished_at
)
select
    dispatch_test.id(1), dispatch_test.id(200 + n), dispatch_test.id(31),
    dispatch_test.id(131), dispatch_test.id(131), 'completed', dispatch.clock(),
    dispatch.clock()
from generate_series(1, dispatch.allowance_limit()) as n;
insert into dispatch.run_detail (
    workspace_id, run_id, issue_id, requested_at, reason, source, payload, actor_type,
    attribution_source
)
select
    r.workspace_id, r.id, r.issue_id, r.requested_at, 'task_assigned', 'assign',
    jsonb_build_object('task_id', r.issue_id, 'actor_type', 'agent'), 'agent', 'owner_fallback'
from dispatch.run as r;
select is(
    pg_temp.explain(31), 'allowance: allowance_exhausted', 'agents have used up the allowance'
);

select * from finish();
rollback;

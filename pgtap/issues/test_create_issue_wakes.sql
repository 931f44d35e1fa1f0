begin;
select plan(5);
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

select dispatch.create_issue(
    dispatch_test.id(1), p.word, 'user', dispatch_test.id(11), p_priority => p.word,
    p_assignee_type => 'agent', p_assignee_id => dispatch_test.id(31)
)
from unnest(array['urgent', 'high', 'medium', 'low', 'none']) as p (word);
select is(
    (
        select string_agg(concat_ws(' ', i.title, r.priority), ', ' order by i.number)
        from dispatch.issue as i
        inner join dispatch.run as r
            on r.workspace_id = i.workspace_id and r.issue_id = i.id
    ),
    'urgent 4, high 3, medium 2, low 1, none 0', 'a run has the priority of its issue'
);

-- Who assigned stands in the payload: an agent exactly when an agent acts.
select dispatch.put_agent(
    dispatch_test.id(1), dispatch_test.id(33), 'Open', dispatch_test.id(11),
    dispatch_test.id(21), 'public_to'
);
select dispatch.grant_invoke(dispatch_test.id(1), dispatch_test.id(33), 'workspace');

create function pg_temp.assigned_by(p_actor_type text, p_actor integer default null)
returns jsonb
language plpgsql
as $assigned$
declare
    v_run uuid;
begin
    select c.run_id
    into v_run
    from dispatch.create_issue(
        dispatch_test.id(1), 'Written', p_actor_type, dispatch_test.id(p_actor),
        p_assignee_type => 'agent', p_assignee_id => dispatch_test.id(33)
    ) as c;
    return (select d.payload - 'task_id' from dispatch.run_detail as d where d.run_id = v_run);
end;
$assigned$;

select is(
    pg_temp.assigned_by('user', 12),
    jsonb_build_object('actor_type', 'user', 'actor_id', dispatch_test.id(12)),
    'a member is a user'
);
select is(
    pg_temp.assigned_by('agent', 31),
    jsonb_build_object('actor_type', 'agent', 'actor_id', dispatch_test.id(31)),
    'an agent is an agent'
);
select is(
    pg_temp.assigned_by('system'),
    '{"actor_type": "user", "actor_id": null}'::jsonb,
    'the system is written as a user'
);

-- The owner may do anything, a user without an id nothing that is private.
select is(
    dispatch_test.error_of($$
        select dispatch.create_issue(
            dispatch_test.id(1), 'Written', 'user', p_assignee_type => 'agent',
            p_assignee_id => dispatch_test.id(31)
        )
    $$),
    'PD403 p_assignee_id invocation_not_allowed', 'a user without an id acts for nobody'
);

select * from finish();
rollback;

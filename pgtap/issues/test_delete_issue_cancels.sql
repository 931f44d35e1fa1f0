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

-- Workspace 2 has a member, an agent and an issue of its own.
select dispatch.put_workspace(dispatch_test.id(2), 'Elsewhere', 'XYZ');
select dispatch.put_member(dispatch_test.id(2), dispatch_test.id(13), 'Stranger');
select dispatch.put_runtime(dispatch_test.id(2), dispatch_test.id(22), 'daemon');
select dispatch.put_agent(
    dispatch_test.id(2), dispatch_test.id(39), 'Agent', dispatch_test.id(13),
    dispatch_test.id(22)
);
select dispatch.create_issue(
    dispatch_test.id(2), 'Theirs', 'system', p_issue_id => dispatch_test.id(109)
);

select dispatch.create_issue(
    dispatch_test.id(1), 'Written', 'user', dispatch_test.id(11),
    p_issue_id => dispatch_test.id(i), p_parent_id => dispatch_test.id(parent)
)
from (values (100, null), (101, 100), (102, 101)) as n (i, parent);
-- Runs of issue 100: one of each status; run 81 belongs to issue 101.
insert into dispatch.run (
    workspace_id, id, agent_id, runtime_id, issue_id, lane, status, requested_at, fire_at,
    finished_at
)
select
    dispatch_test.id(1), dispatch_test.id(n.run), dispatch_test.id(n.agent),
    dispatch_test.id(21), dispatch_test.id(n.issue), dispatch_test.id(n.issue),
    n.status::dispatch.run_status, dispatch.clock(),
    case when n.status = 'deferred' then dispatch.clock() end,
    case when n.status in ('completed', 'failed', 'cancelled') then dispatch.clock() end
from (
    values
    (71, 31, 100, 'queued'), (72, 31, 100, 'running'), (73, 32, 100, 'dispatched'),
    (74, 32, 100, 'deferred'), (75, 31, 100, 'completed'), (76, 31, 100, 'failed'),
    (81, 31, 101, 'queued')
) as n (run, agent, issue, status);
insert into dispatch.run_detail (
    workspace_id, run_id, issue_id, requested_at, reason, source, payload, actor_type,
    attribution_source
)
select
    r.workspace_id, r.id, r.issue_id, r.requested_at, 'task_assigned', 'assign', '{}', 'system',
    'owner_fallback'
from dispatch.run as r;
insert into dispatch.comment (
    workspace_id, id, issue_id, author_type, body, created_at, updated_at
)
values (
    dispatch_test.id(1), dispatch_test.id(91), dispatch_test.id(100), 'system', 'Said',
    dispatch.clock(), dispatch.clock()
);

select is(
    dispatch_test.error_of($$
        select dispatch.delete_issue(dispatch_test.id(1), null, 'user', dispatch_test.id(11))
    $$),
    'PD400 p_issue_id', 'no issue'
);
select is(
    dispatch_test.error_of($$select dispatch.delete_issue(
        dispatch_test.id(1),
        '00000000-0000-0000-0000-000000000000', 'system'
    )$$),
    'PD400 p_issue_id', 'an all-zero issue is no success'
);
select is(
    dispatch_test.error_of($$
        select dispatch.delete_issue(dispatch_test.id(1), dispatch_test.id(777), 'system')
    $$),
    'PD404 p_issue_id', 'an unknown issue'
);
select is(
    dispatch_test.error_of($$
        select dispatch.delete_issue(dispatch_test.id(1), dispatch_test.id(109), 'system')
    $$),
    'PD404 p_issue_id', 'a foreign issue'
);
select is(
    dispatch_test.error_of($$
        select dispatch.delete_issue(null, dispatch_test.id(100), 'system')
    $$),
    'PD400 p_workspace_id', 'no workspace'
);
select is(
    dispatch_test.error_of($$
        select dispatch.delete_issue(dispatch_test.id(9), dispatch_test.id(100), 'system')
    $$),
    'PD404 p_workspace_id', 'an unknown workspace'
);
select is(
    dispatch_test.error_of($$
        select dispatch.delete_issue(dispatch_test.id(1), dispatch_test.id(100), null)
    $$),
    'PD400 p_actor_type', 'no actor'
);
select is(
    dispatch_test.error_of($$select dispatch.delete_issue(
        dispatch_test.id(1), dispatch_test.id(100), 'user',
        dispatch_test.id(13)
    )$$),
    'PD403 p_actor_id', 'a person of another workspace'
);
select is(
    dispatch_test.error_of($$select dispatch.delete_issue(
        dispatch_test.id(1), dispatch_test.id(100), 'agent', dispatch_test.id(31),
        dispatch_test.id(75)
    )$$),
    'PD403 p_acting_run_id attribution_blocked', 'a run that has ended'
);
select is(
    (
        select concat_ws(' ', (select count(*) from dispatch.issue), count(r.issue_id))
        from dispatch.run as r
        where r.finished_at is null
    ),
    '4 5', 'no refused call has deleted or cancelled anything'
);

select is(
    dispatch.delete_issue(
        dispatch_test.id(1), dispatch_test.id(100), 'user', dispatch_test.id(12)
    ),
    4, 'every run that had not ended is cancelled and counted'
);
select is(
    (
        select string_agg(concat_ws(' ', right(r.id::text, 2), r.status), ', ' order by r.id)
        from dispatch.run as r
    ),
    '71 cancelled, 72 cancelled, 73 cancelled, 74 cancelled, 75 completed, 76 failed, '
    '81 queued',
    'ended runs keep their end, another issue''s run goes on'
);
select is(
    (
        select string_agg(right(r.id::text, 2), ' ')
        from dispatch.run as r
        inner join dispatch.run_detail as d on d.run_id = r.id
        where r.issue_id is not null or d.issue_id is not null
    ),
    '81', 'all runs stay, without their issue'
);
select is(
    (
        select string_agg(
            concat_ws(' ', right(i.id::text, 3), right(i.parent_id::text, 3)), ', '
            order by i.id
        )
        from dispatch.issue as i
    ),
    '101, 102 101, 109', 'the issue is gone and its child has no parent'
);
select is((select count(*) from dispatch.comment), 0::bigint, 'its comments are gone');
select is(
    dispatch_test.error_of($$
        select dispatch.delete_issue(dispatch_test.id(1), dispatch_test.id(100), 'system')
    $$),
    'PD404 p_issue_id', 'it cannot be deleted twice'
);
select is(
    dispatch.delete_issue(dispatch_test.id(1), dispatch_test.id(102), 'system'), 0,
    'an issue without runs cancels none'
);

select * from finish();
rollback;

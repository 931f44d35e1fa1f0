begin;
select plan(12);

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

create function pg_temp.assign(
    p_issue integer,
    p_agent integer,
    p_type text default 'user',
    p_actor integer default 2
)
returns text
language sql
as $fn$
    select u.outcome || ' ' || u.reason_code
    from dispatch.update_issue(
        dispatch_test.id(1), dispatch_test.id(100 + p_issue),
        jsonb_build_object(
            'assignee', case
                when p_agent is not null
                    then jsonb_build_object(
                        'type', 'agent', 'id', dispatch_test.id(10 + p_agent)
                    )
            end
        ),
        p_type, dispatch_test.id(p_actor), p_handoff_note => 'Mind the gap.'
    ) as u;
$fn$;

create function pg_temp.kept() returns text
language sql
as $fn$
    select string_agg(
        concat_ws(
            ' ', right(o.issue_id::text, 3), right(o.agent_id::text, 2),
            o.assignment_generation, o.actor_type, right(o.actor_id::text, 2),
            coalesce(o.resolution, 'open')
        ),
        ', ' order by o.issue_id
    )
    from dispatch.deferred_assignment as o;
$fn$;
create function pg_temp.direct(p_generation integer, p_actor integer) returns text
language sql
as $fn$
    select d.outcome::text
    from dispatch.queue_wake(
        dispatch_test.id(1), dispatch_test.id(12), 'task_assigned',
        jsonb_build_object('task_id', dispatch_test.id(101)),
        format(
            'task_assigned:%s:%s:%s', dispatch_test.id(101), dispatch_test.id(12), p_generation
        ),
        p_actor_type => 'user', p_actor_id => dispatch_test.id(p_actor)
    ) as d;
$fn$;
select dispatch.pause_workspace(dispatch_test.id(1), 'system', p_reason => 'halt');

select is(pg_temp.assign(1, 1), 'blocked paused', 'an assignment during a pause is refused');
select is(pg_temp.kept(), '101 11 1 user 02 open', '7.4: and kept, with its actor');
select dispatch_test.advance_clock(interval '1 minute');
select pg_temp.assign(1, 2);
select results_eq(
    $$
    select pg_temp.kept(), o.created_at, o.handoff_note from dispatch.deferred_assignment as o
    $$,
    $$select '101 12 2 user 02 open', dispatch.clock(), 'Mind the gap.'$$,
    '7.4: of an issue the last one is'
);
select is(
    pg_temp.direct(1, 2), 'blocked', 'a writer that is late by a generation is refused'
);
select is(pg_temp.kept(), '101 12 2 user 02 open', '7.4: and replaces nothing');
select pg_temp.direct(3, 2);
select is(
    pg_temp.kept(), '101 12 2 user 02 open', '7.4: nor does one that is ahead of the issue'
);
update dispatch.deferred_assignment as o set actor_id = null where true;
select pg_temp.direct(2, 2);
select is(
    pg_temp.kept(), '101 12 2 user 02 open',
    '7.4: an equal generation replaces a record without an actor'
);
update dispatch.deferred_assignment as o set actor_id = dispatch_test.id(3) where true;
select pg_temp.direct(2, 2);
select is(pg_temp.kept(), '101 12 2 user 03 open', '7.4: and none that has one');
update dispatch.deferred_assignment as o
set resolved_at = dispatch.clock(), resolution = 'dropped'
where true;
select pg_temp.direct(2, 2);
select is(
    pg_temp.kept(), '101 12 2 user 02 open', '7.4: a record that is resolved is replaced'
);
select pg_temp.assign(1, null);
select is(
    pg_temp.kept(), '101 12 2 user 02 open', 'taking the assignee away is no assignment'
);
select dispatch.queue_wake(
    dispatch_test.id(1), dispatch_test.id(11), 'mention', p_issue_id => dispatch_test.id(102)
);
select dispatch.queue_wake(
    dispatch_test.id(1), dispatch_test.id(11), 'task_assigned',
    p_issue_id => dispatch_test.id(102)
);
select is(
    pg_temp.kept(), '101 12 2 user 02 open',
    '7.4: neither another reason nor an agent that is not the assignee is kept'
);
select is(
    (
        select string_agg(u.outcome::text, ' ')
        from dispatch.update_issues(
            dispatch_test.id(1), array[dispatch_test.id(102), dispatch_test.id(103)],
            jsonb_build_object(
                'assignee', jsonb_build_object('type', 'agent', 'id', dispatch_test.id(13))
            ),
            'user', dispatch_test.id(2)
        ) as u
    )
    || ', ' || pg_temp.kept(),
    'blocked blocked, 101 12 2 user 02 open, 102 13 1 user 02 open, 103 13 1 user 02 open',
    'a batch is kept issue by issue'
);

select * from finish();
rollback;

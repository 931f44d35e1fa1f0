begin;
select plan(8);

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

-- The payload of an assignment, made by an actor of a type.
create function pg_temp.by(p_issue integer, p_type text default 'agent') returns jsonb
language sql
as $fn$
    select jsonb_strip_nulls(jsonb_build_object(
        'task_id', dispatch_test.id(100 + p_issue), 'actor_type', p_type,
        'actor_id', dispatch_test.id(99)
    ));
$fn$;

create function pg_temp.wake(
    p_agent integer,
    p_issue integer,
    p_payload jsonb,
    p_key text default null,
    p_reason text default 'task_assigned'
)
returns text
language sql
as $fn$
    select d.outcome || ' ' || d.reason_code
    from dispatch.queue_wake(
        dispatch_test.id(1), dispatch_test.id(10 + p_agent), p_reason, p_payload, p_key,
        dispatch_test.id(100 + p_issue)
    ) as d;
$fn$;

create function pg_temp.observed(p_issue integer) returns bigint
language plpgsql
as $fn$
begin
    return dispatch._allowance_count(
        dispatch_test.id(1), dispatch_test.id(100 + p_issue)::text, dispatch.clock()
    );
end;
$fn$;

create function pg_temp.free(p_agent integer, p_task jsonb) returns text
language sql
as $fn$
    select d.outcome::text
    from dispatch.queue_wake(
        dispatch_test.id(1), dispatch_test.id(10 + p_agent), 'task_assigned',
        jsonb_build_object('actor_type', 'agent', 'task_id', p_task)
    ) as d;
$fn$;

-- Runs that have something in common with the issue's allowance, but not all of it.
select pg_temp.wake(1, 2, pg_temp.by(2));
select pg_temp.wake(2, 1, pg_temp.by(1), null, 'task_comment');
select pg_temp.wake(3, 1, pg_temp.by(1, 'user'));
select pg_temp.wake(4, 1, pg_temp.by(1, 'system'));
select pg_temp.wake(5, 1, pg_temp.by(1, null));
select is(
    pg_temp.observed(1), 0::bigint,
    'T21: another task, another reason and another actor do not count'
);
select is(pg_temp.observed(2), 1::bigint, 'the run of the other task counts for that one');

select pg_temp.free(6, '42') from generate_series(1, 5);
select is(
    (select string_agg(pg_temp.free(6, '"42"'), ' ') from generate_series(1, 6)),
    'queued queued queued queued queued rate_limited',
    'a stored number never joins the allowance of the text that looks like it'
);
select is(
    pg_temp.free(6, to_jsonb(repeat('x', 100000))), 'queued',
    'the task may be a text too long for an index row'
);
select is(
    (
        select string_agg(pg_temp.free(6, to_jsonb(repeat('x', 100000))), ' ')
        from generate_series(1, 5)
    ),
    'queued queued queued queued rate_limited',
    'and is counted like any other'
);
select is(
    (select string_agg(pg_temp.free(6, to_jsonb(e'a\n"b"\\ é'::text)), ' ')
    from generate_series(1, 6)),
    'queued queued queued queued queued rate_limited',
    'whatever characters it has'
);
select is(
    pg_temp.free(6, to_jsonb(e'A\n"b"\\ é'::text)), 'queued',
    'tasks differ by case'
);

select dispatch.put_workspace(dispatch_test.id(7), 'Elsewhere');
select dispatch.put_member(dispatch_test.id(7), dispatch_test.id(2), 'Ana');
select dispatch.put_runtime(dispatch_test.id(7), dispatch_test.id(8), 'daemon-7');
select dispatch.put_agent(
    dispatch_test.id(7), dispatch_test.id(9), 'far', dispatch_test.id(2), dispatch_test.id(8)
);
select is(
    (
        select string_agg(d.outcome::text, ' ')
        from generate_series(1, 6) as n
        cross join lateral dispatch.queue_wake(
            dispatch_test.id(7), dispatch_test.id(9), 'task_assigned',
            '{"actor_type": "agent", "task_id": "42"}', 'k' || n
        ) as d
    ),
    'queued queued queued queued queued rate_limited',
    'an equal text in another workspace has an allowance of its own'
);

select * from finish();
rollback;

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
from generate_series(1, 4) as n;

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

-- The first wake makes the run, the second one merges into it and relabels it.
create function pg_temp.pair(p_agent integer, p_issue integer, p_first text, p_second text)
returns text
language plpgsql
as $fn$
begin
    perform pg_temp.wake(p_agent, p_issue, pg_temp.by(p_issue, p_first));
    perform dispatch_test.advance_clock(interval '1 second');
    return split_part(pg_temp.wake(p_agent, p_issue, pg_temp.by(p_issue, p_second)), ' ', 1);
end;
$fn$;

select is(pg_temp.pair(1, 1, 'user', 'agent'), 'coalesced', 'T34, S15: agent into user merges');
select is(
    pg_temp.observed(1), 1::bigint, 'T34, S15: the count is one too high: an exempt run counts'
);
select is(pg_temp.pair(2, 2, 'agent', 'user'), 'coalesced', 'T35, S15: user into agent merges');
select is(
    pg_temp.observed(2), 0::bigint, 'T35, S15: the count is one too low: a place comes back'
);
select is(pg_temp.pair(3, 3, 'agent', null), 'coalesced', 'T35: so does no actor into agent');
select is(pg_temp.observed(3), 0::bigint, 'T35: with the same effect');
select is(pg_temp.pair(4, 4, 'agent', 'agent'), 'coalesced', 'agent into agent merges');
select is(pg_temp.observed(4), 1::bigint, 'and the count is exact');
select is(
    (
        select string_agg(r.actor_type, ' ') from dispatch.runs as r
    ),
    'system system system system',
    'the persisted actor is another thing and stays'
);

select pg_temp.wake(4 + n, 1, pg_temp.by(1)) from generate_series(1, 4) as n;
select is(
    pg_temp.wake(10, 1, pg_temp.by(1)), 'rate_limited allowance_exhausted',
    'T34: tightening, a wake is refused after four that agents asked for'
);
select pg_temp.wake(4 + n, 2, pg_temp.by(2)) from generate_series(1, 4) as n;
select is(
    pg_temp.wake(10, 2, pg_temp.by(2)) || ', ' || pg_temp.wake(11, 2, pg_temp.by(2)),
    'queued queued, rate_limited allowance_exhausted',
    'T35: loosening, a sixth one is admitted, and no seventh'
);
select pg_temp.pair(12, 3, 'user', 'agent');
select pg_temp.wake(12, 3, pg_temp.by(3)) from generate_series(1, 8) as n;
select is(
    pg_temp.observed(3), 1::bigint, 'the error is one place a run, however often it merges'
);

select * from finish();
rollback;

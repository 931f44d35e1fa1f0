begin;
select plan(6);

select dispatch_test.set_clock('2030-01-15 12:00:00+00');
select dispatch.put_workspace(dispatch_test.id(1), 'Works');
select dispatch.put_member(dispatch_test.id(1), dispatch_test.id(2), 'Ana');
select dispatch.put_runtime(dispatch_test.id(1), dispatch_test.id(3), 'daemon-1');
select dispatch.heartbeat(dispatch_test.id(1), array[dispatch_test.id(3)]);
select dispatch.put_agent(
    dispatch_test.id(1), dispatch_test.id(10 + n), 'agent ' || n, dispatch_test.id(2),
    dispatch_test.id(3)
)
from generate_series(1, 30) as n;
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

create function pg_temp.element(p_agent integer, p_type text, p_key text default null)
returns jsonb
language sql
as $fn$
    select jsonb_strip_nulls(jsonb_build_object(
        'agent_id', dispatch_test.id(10 + p_agent), 'reason', 'task_assigned',
        'payload', pg_temp.by(1, p_type), 'idempotency_key', p_key
    ));
$fn$;
create function pg_temp.batch(variadic p_elements jsonb[]) returns text
language sql
as $fn$
    select string_agg(d.outcome::text, ' ' order by d.ordinality)
    from dispatch.queue_wakes(
        dispatch_test.id(1), to_jsonb(p_elements)
    ) with ordinality as d;
$fn$;

select is(
    pg_temp.batch(
        pg_temp.element(1, 'agent'), pg_temp.element(2, 'agent'), pg_temp.element(3, 'agent'),
        pg_temp.element(4, 'agent'), pg_temp.element(5, 'agent'), pg_temp.element(6, 'agent')
    ),
    'queued queued queued queued queued rate_limited',
    'of six wakes in one batch the sixth is refused'
);
select dispatch_test.advance_clock(dispatch.allowance_window());
select is(
    pg_temp.batch(
        pg_temp.element(7, 'agent', 'a'), pg_temp.element(8, 'user'),
        pg_temp.element(9, 'agent'), pg_temp.element(10, 'agent'),
        pg_temp.element(11, null), pg_temp.element(12, 'agent'),
        pg_temp.element(13, 'agent'), pg_temp.element(14, 'agent', 'b'),
        pg_temp.element(15, 'agent', 'a'), pg_temp.element(16, 'user', 'b')
    ),
    'queued queued queued queued queued queued queued rate_limited deduplicated queued',
    'wakes of others in between use no place, and a refused one leaves its key free'
);

-- A merge relabels the run that it finds, so its place in the batch counts.
select dispatch_test.advance_clock(dispatch.allowance_window());
select is(
    pg_temp.batch(
        pg_temp.element(17, 'agent'), pg_temp.element(18, 'agent'),
        pg_temp.element(19, 'agent'), pg_temp.element(20, 'agent'),
        pg_temp.element(21, 'agent'), pg_temp.element(22, 'agent'),
        pg_temp.element(17, 'user'), pg_temp.element(23, 'agent')
    ),
    'queued queued queued queued queued rate_limited coalesced queued',
    'a place comes back to the wakes after the merge and to none before it'
);
select dispatch_test.advance_clock(dispatch.allowance_window());
select is(
    pg_temp.batch(
        pg_temp.element(24, 'agent'), pg_temp.element(25, 'agent'),
        pg_temp.element(26, 'agent'), pg_temp.element(27, 'agent'),
        pg_temp.element(28, 'user')
    ),
    'queued queued queued queued queued',
    'four agents and a user'
);
select is(
    pg_temp.batch(pg_temp.element(29, 'agent'), pg_temp.element(28, 'agent')),
    'queued coalesced',
    'a merge that comes later takes no place from an earlier wake'
);
select is(pg_temp.observed(1), 6::bigint, 'though it is counted from then on');

select * from finish();
rollback;

begin;
select plan(15);

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

create function pg_temp.counters() returns text
language sql
as $fn$
    select string_agg(c.reason || '=' || c.value, ' ' order by c.reason)
    from dispatch.gate_counters as c
    where c.value > 0;
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

select pg_temp.wake(n, 1, pg_temp.by(1), 'k' || n) from generate_series(1, 4) as n;
select dispatch_test.advance_clock(interval '6 seconds');
select pg_temp.wake(5, 1, pg_temp.by(1), 'k5');
select dispatch_test.advance_clock(interval '3 seconds');

select is(
    pg_temp.wake(5, 1, pg_temp.by(1)), 'coalesced coalesced',
    'T30, S6: a wake that merges is not refused'
);
select is(pg_temp.observed(1), 5::bigint, 'T30, S6: and uses no place');
select is(
    pg_temp.wake(1, 1, pg_temp.by(1)), 'absorbed already_active',
    'a wake that a waiting run absorbs is not refused either'
);
select is(
    pg_temp.wake(9, 1, pg_temp.by(1), 'k1'), 'deduplicated duplicate_recent',
    'T31, S6: nor is a repeated key, whichever agent it asks for'
);
select is(
    pg_temp.counters(), 'already_active=1 coalesced=1 duplicate_recent=1',
    'T30, T31: none of them moves a counter of the allowance'
);
select is(
    pg_temp.wake(6, 1, pg_temp.by(1), 'refused'), 'rate_limited allowance_exhausted',
    'the allowance is exhausted all the while'
);
select dispatch.pause_workspace(dispatch_test.id(1), 'system', p_reason => 'halt');
select is(
    pg_temp.wake(6, 1, pg_temp.by(1)), 'blocked paused',
    'a pause is found before the allowance'
);
select dispatch.resume_workspace(dispatch_test.id(1), 'system');
select is(pg_temp.observed(1), 5::bigint, 'and nothing of all this used a place');

select dispatch_test.advance_clock(dispatch.allowance_window());
select is(
    pg_temp.wake(6, 1, pg_temp.by(1), 'refused'), 'queued queued',
    'the key of a refused wake is not burnt'
);
select is(
    pg_temp.wake(6, 1, pg_temp.by(1), 'refused'), 'deduplicated duplicate_recent',
    'T32, S16: delivering a key again'
);
select is(pg_temp.observed(1), 1::bigint, 'T32, S16: uses no second place');
select is(
    pg_temp.wake(7, 1, pg_temp.by(1)) || ', ' || pg_temp.wake(8, 1, pg_temp.by(1)),
    'queued queued, queued queued',
    'S16: delivering without a key is a wake each time'
);
select is(pg_temp.observed(1), 3::bigint, 'S16: and uses a place each time');

select pg_temp.wake(n, 1, pg_temp.by(1)) from generate_series(9, 10) as n;
update dispatch.run_detail as d
set requested_at = dispatch.clock() - dispatch.duplicate_window()
where d.idempotency_key = 'k1';
select is(
    pg_temp.wake(11, 1, pg_temp.by(1), 'k1'), 'rate_limited allowance_exhausted',
    'T41: a key older than the look-up meets the allowance before its index'
);
select is(
    (
        select d.outcome || ' ' || pg_temp.observed(1)
        from dispatch.queue_wake(
            dispatch_test.id(1), dispatch_test.id(22), 'task_assigned', pg_temp.by(1),
            p_fire_at => dispatch.clock() + interval '1 hour'
        ) as d
    ),
    'deferred 6',
    'a wake for later is not judged, and has a place from its request on'
);

select * from finish();
rollback;

begin;
select plan(9);

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

-- Wakes a fresh agent at a time after noon.
create function pg_temp.at(p_agent integer, p_after interval) returns text
language plpgsql
as $fn$
begin
    perform dispatch_test.set_clock('2030-01-15 12:00:00+00'::timestamptz + p_after);
    return split_part(pg_temp.wake(p_agent, 1, pg_temp.by(1)), ' ', 1);
end;
$fn$;

select is(
    (
        select string_agg(pg_temp.at(n, (n - 1) * interval '60 seconds'), ' ')
        from generate_series(1, 5) as n
    ),
    'queued queued queued queued queued',
    'T14, R16: wakes at 0, 60, 120, 180 and 240 s are admitted'
);
select is(pg_temp.at(6, '300 s'), 'rate_limited', 'R16: one at 300 s is refused');
select is(
    pg_temp.at(6, '599.999998 s') || ' ' || pg_temp.at(7, '599.999999 s'),
    'rate_limited rate_limited',
    'T14: so is one a microsecond before the first one leaves the window'
);
select is(
    pg_temp.at(6, '600 s'), 'queued',
    'T14, T16, S12, S5: a run exactly the window old is out of it, whatever was refused since'
);
select is(pg_temp.at(7, '601 s'), 'rate_limited', 'T14, S5: each run returns one place');
select is(
    pg_temp.at(7, '660 s'), 'queued', 'T14, S5: exactly the window after its own request'
);
select is(
    (
        select string_agg(pg_temp.at(n, '1200 s'), ' ') from generate_series(8, 12) as n
    ),
    'queued queued queued queued rate_limited',
    'S5: in the next window as many are admitted, the run at 660 s being the fifth'
);
select is(
    pg_temp.counters(), 'allowance_exhausted=5', '003.1: every refusal was counted'
);
select is(
    (select count(*) from dispatch.run_detail as d where d.reason = 'task_assigned'),
    11::bigint,
    'R16: no refusal made a row'
);

select * from finish();
rollback;

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

-- Wakes an agent and has its run done, so that the next wake of the pair finds the slot free.
create function pg_temp.turn(p_agent integer, p_actor uuid) returns text
language plpgsql
as $fn$
declare
    v_answer text;
    v_run uuid;
begin
    perform dispatch_test.advance_clock(interval '6 seconds');
    v_answer := pg_temp.wake(
        p_agent, 1, pg_temp.by(1) || jsonb_build_object('actor_id', p_actor)
    );
    select c.run_id
    into v_run
    from dispatch.claim_run(dispatch_test.id(1), dispatch_test.id(10 + p_agent)) as c;
    if found then
        perform dispatch.start_run(dispatch_test.id(1), v_run, 1);
        perform dispatch.complete_run(dispatch_test.id(1), v_run, 1);
    end if;
    return split_part(v_answer, ' ', 1);
end;
$fn$;

select is(
    (
        select string_agg(pg_temp.turn(1 + n % 2, dispatch_test.id(80 + n)), ' ' order by n)
        from generate_series(0, 4) as n
    ),
    'queued queued queued queued queued',
    'T13, S4: A, B, A, B, A are admitted'
);
select is(
    pg_temp.turn(2, dispatch_test.id(99)), 'rate_limited',
    'T13, S4: B is refused, for the agents share the allowance of the issue'
);
select is(
    pg_temp.turn(3, dispatch_test.id(98)), 'rate_limited',
    '001.3: so is an agent that was never woken, by an actor that never acted'
);

select dispatch_test.advance_clock(dispatch.allowance_window());
select dispatch.heartbeat(dispatch_test.id(1), array[dispatch_test.id(3)]);
select is(
    (
        select string_agg(pg_temp.turn(4, dispatch_test.id(99)), ' ')
        from generate_series(1, 6)
    ),
    'queued queued queued queued queued rate_limited',
    'T24, S7: wakes without a key are bound as well'
);
select is(
    pg_temp.counters(), 'allowance_exhausted=3', 'every refusal is counted'
);
select is(pg_temp.observed(1), 5::bigint, '001.4: a refused wake uses nothing');

select * from finish();
rollback;

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

create function pg_temp.claimed(p_agent integer) returns uuid
language sql
as $fn$
    select c.run_id
    from dispatch.claim_run(dispatch_test.id(1), dispatch_test.id(10 + p_agent)) as c;
$fn$;
create temp table step (name text, run_id uuid, retry uuid, follow_up uuid) on commit drop;

-- A run fails three times for a reason that is retried.
select dispatch.queue_wake(
    dispatch_test.id(1), dispatch_test.id(11), 'task_assigned', pg_temp.by(1),
    p_max_attempts => 3
);
do $do$
begin
    for v_n in 1..3 loop
        insert into pg_temp.step (name, run_id, retry)
        select 'failed', t.run_id, t.retry_run_id
        from dispatch.fail_run(dispatch_test.id(1), pg_temp.claimed(1), 1, 'timeout') as t;
    end loop;
end;
$do$;
select is(
    (select count(s.retry) from step as s where s.name = 'failed'), 2::bigint,
    'two of the failures were retried'
);
select is(
    (
        select count(*)
        from dispatch.run_detail as d
        where d.reason = 'task_assigned' and d.payload ->> 'actor_type' = 'agent'
    ),
    3::bigint,
    'each retry is a row with the payload of its run'
);
select is(pg_temp.observed(1), 1::bigint, 'only the run that an agent asked for has a place');

-- A dispatched run absorbs a wake of another reason, which gets a run of its own later.
select pg_temp.wake(2, 1, pg_temp.by(1));
select pg_temp.claimed(2);
select is(
    pg_temp.wake(2, 1, pg_temp.by(1), null, 'task_comment'), 'absorbed already_active',
    'a dispatched run absorbs'
);
insert into step (name, run_id, follow_up)
select 'started', t.run_id, t.follow_up_run_id
from dispatch.run as r
cross join lateral dispatch.start_run(dispatch_test.id(1), r.id, 1) as t
where r.agent_id = dispatch_test.id(12);
select results_eq(
    $$
    select r.reason, r.payload ->> 'actor_type', r.status::text
    from dispatch.runs as r
    inner join step as s on s.follow_up = r.id
    $$,
    $$values ('task_assigned', 'agent', 'queued')$$,
    'what is owed is queued with the reason and payload of the run that owes it'
);
select is(pg_temp.observed(1), 2::bigint, 'and has no place of its own');
select is(
    pg_temp.wake(2, 1, pg_temp.by(1)), 'coalesced coalesced',
    'an assignment that merges into it'
);
select is(pg_temp.observed(1), 2::bigint, 'has none either');

select is(
    (
        select string_agg(split_part(pg_temp.wake(n, 1, pg_temp.by(1)), ' ', 1), ' ')
        from generate_series(3, 6) as n
    ),
    'queued queued queued rate_limited',
    'so three more wakes of agents are admitted'
);
-- An exhausted allowance stops no retry and no follow-up.
select dispatch.queue_wake(
    dispatch_test.id(1), dispatch_test.id(13), 'task_comment', pg_temp.by(1),
    p_issue_id => dispatch_test.id(101), p_coalesce => false
);
select is(
    (
        select t.retry_run_id is not null
        from (select pg_temp.claimed(3) as id) as c
        cross join lateral dispatch.fail_run(dispatch_test.id(1), c.id, 1, 'timeout') as t
    ),
    true,
    'an exhausted allowance stops no retry'
);
select pg_temp.claimed(4);
select pg_temp.wake(4, 1, pg_temp.by(1), null, 'task_comment');
select is(
    (
        select t.follow_up_run_id is not null
        from dispatch.run as r
        cross join lateral dispatch.start_run(dispatch_test.id(1), r.id, 1) as t
        where r.agent_id = dispatch_test.id(14)
    ),
    true,
    'nor does it stop a follow-up'
);
select is(pg_temp.observed(1), 5::bigint, 'nor does one of them use it up');

select * from finish();
rollback;

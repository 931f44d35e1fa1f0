begin;
select plan(13);

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

create temp table filled on commit drop as
select n, pg_temp.wake(n, 1, pg_temp.by(1)) as answer
from generate_series(1, dispatch.allowance_limit()) as n;
select dispatch_test.advance_clock(interval '6 seconds');

select is(
    (select string_agg(distinct f.answer, ', ') from filled as f),
    'queued queued',
    'T1, S1: as many wakes by agents as the allowance has are admitted'
);
select is(
    (
        select format('%s %s %s', d.outcome, d.reason_code, d.run_id is null)
        from dispatch.queue_wake(
            dispatch_test.id(1), dispatch_test.id(16), 'task_assigned', pg_temp.by(1),
            p_issue_id => dispatch_test.id(101)
        ) as d
    ),
    'rate_limited allowance_exhausted t',
    'T1, S1: one more is refused with an outcome of its own, and names no run'
);
select results_eq(
    $$
    select d.agent_id, d.source, d.detail
    from dispatch.queue_wake(
        dispatch_test.id(1), dispatch_test.id(17), 'task_assigned', pg_temp.by(1),
        p_issue_id => dispatch_test.id(101)
    ) as d
    $$,
    $$
    select
        dispatch_test.id(17), 'wake', jsonb_build_object(
            'task_id', dispatch_test.id(101), 'observed', 5, 'allowance', 5
        )
    $$,
    'the answer names the asked agent, what was counted and the allowance'
);
select is(
    (
        select format('%s %s', count(*), sum(r.coalesced_count)) from dispatch.runs as r
    ),
    '5 5',
    '001.6: a refusal inserts nothing and merges nothing'
);
select is_empty(
    'select from dispatch.run_trigger as t', '001.6: and is recorded on no run'
);
select is(
    pg_temp.counters(), 'allowance_exhausted=2', 'T1, S1: each refusal is counted once'
);
select is(
    pg_temp.wake(6, 1, pg_temp.by(1, 'user')), 'queued queued',
    'T2, S2: a wake by a user is admitted although the allowance is exhausted'
);
select is(
    pg_temp.wake(7, 1, pg_temp.by(1, null)), 'queued queued',
    'T4, S3: so is a wake without an actor_type'
);
select is(
    pg_temp.wake(8, 1, jsonb_build_object('task_id', dispatch_test.id(101))), 'queued queued',
    'T45, S9: so is one that names the issue and nothing else'
);
select is(pg_temp.observed(1), 5::bigint, 'T2, T4, S3: none of them used the allowance');
select is(
    pg_temp.wake(9, 2, pg_temp.by(2)), 'queued queued',
    'T28: the allowance of another issue is whole'
);
create or replace function dispatch._allowance_count(
    p_workspace_id uuid,
    p_task_id text,
    p_at timestamptz
)
returns bigint
language plpgsql
as $fn$
begin
    raise exception 'the count was read';
end;
$fn$;
select is(
    pg_temp.wake(10, 1, pg_temp.by(1), null, 'task_comment'), 'queued queued',
    'T9: a wake of another reason is admitted, the count unread'
);
select is(
    pg_temp.counters(), 'allowance_exhausted=2',
    'T2, T4, T9, S3: what is out of scope moves no counter'
);

select * from finish();
rollback;

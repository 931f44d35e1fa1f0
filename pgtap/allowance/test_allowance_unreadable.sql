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

create function pg_temp.counters() returns text
language sql
as $fn$
    select string_agg(c.reason || '=' || c.value, ' ' order by c.reason)
    from dispatch.gate_counters as c
    where c.value > 0;
$fn$;

-- The count fails with the code that the table holds, or not at all.
create temp table broken (code text) on commit drop;
grant select on broken to dispatch_owner;
create or replace function dispatch._allowance_count(
    p_workspace_id uuid,
    p_task_id text,
    p_at timestamptz
)
returns bigint
language plpgsql
stable
as $fn$
declare
    v_code constant text := (select b.code from pg_temp.broken as b);
begin
    if v_code is not null then
        raise exception using errcode = v_code, message = 'no count today';
    end if;
    return 5;
end;
$fn$;
insert into broken (code) values (null);

select is(
    pg_temp.wake(1, 1, pg_temp.by(1)), 'rate_limited allowance_exhausted',
    'the count decides'
);
update broken set code = '58030';
select is(
    pg_temp.wake(1, 1, pg_temp.by(1)), 'queued queued',
    'T39, T82, S13: when the count cannot be read, the wake is admitted'
);
select results_eq(
    $$
    select
        e.at, e.metric, e.agent_id, e.issue_id, e.run_id, e.actor_type, e.actor_id, e.detail
    from dispatch.gate_event as e
    where e.reason = 'count_read_failed'
    $$,
    $$
    select
        dispatch.clock(), 'assignment_rate_limit', dispatch_test.id(11), dispatch_test.id(101),
        null::uuid, 'system', null::uuid,
        jsonb_build_object(
            'task_id', dispatch_test.id(101), 'allowance', 5, 'error', 'no count today'
        )
    $$,
    'T39, S13: the record has task, allowance and error, and nothing observed'
);
select is(
    pg_temp.counters(), 'allowance_exhausted=1 count_read_failed=1',
    'T39: it is counted under a reason of its own'
);
select is(
    pg_temp.wake(2, 1, pg_temp.by(1, 'user')) || ', ' || pg_temp.wake(3, 1, '{}')
    || ', ' || pg_temp.wake(4, 1, '{"actor_type": "agent"}'),
    'queued queued, queued queued, queued queued',
    'a wake that the allowance does not judge never reads the count'
);
select is(
    pg_temp.counters(), 'allowance_exhausted=1 count_read_failed=1 task_unattributed=1',
    'and moves its own counter at most'
);
update broken set code = t.code from (values ('22012')) as t (code);
select is(
    pg_temp.wake(5, 1, pg_temp.by(1)), 'queued queued', 'any ordinary error is survived'
);

create function pg_temp.with_code(p_code text) returns text
language plpgsql
as $fn$
begin
    update pg_temp.broken set code = p_code;
    return pg_temp.wake(6, 1, pg_temp.by(1));
exception
    when query_canceled or others then
        return sqlstate;
end;
$fn$;
select is(pg_temp.with_code('40001'), '40001', 'a serialization failure passes through');
select is(pg_temp.with_code('40P01'), '40P01', 'so does a deadlock');
select is(pg_temp.with_code('57014'), '57014', 'so does a cancelled statement');
select is(pg_temp.with_code('0A000'), '0A000', 'so does what the server cannot do');
select is(
    (select count(*) from dispatch.run as r where r.agent_id = dispatch_test.id(16)),
    0::bigint,
    'and then nothing is written'
);

select * from finish();
rollback;

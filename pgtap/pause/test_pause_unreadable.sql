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

select pg_temp.wake(3, 2, '{}');
create temp table broken (code text) on commit drop;
grant select on broken to dispatch_owner;
insert into broken (code) values ('58030');
create or replace function dispatch._workspace_is_paused(p_workspace_id uuid)
returns boolean
language plpgsql
stable
as $fn$
begin
    raise exception using
        errcode = (select b.code from pg_temp.broken as b), message = 'no look today';
end;
$fn$;
create function pg_temp.with_code(p_code text) returns text
language plpgsql
as $fn$
begin
    update pg_temp.broken set code = p_code;
    return pg_temp.wake(2, 1, '{}');
exception
    when query_canceled or others then
        return sqlstate;
end;
$fn$;

select is(
    (
        select concat_ws(' ', u.outcome, u.reason_code, u.run_id, u.assignment_generation)
        from dispatch.update_issue(
            dispatch_test.id(1), dispatch_test.id(101),
            jsonb_build_object(
                'assignee', jsonb_build_object('type', 'agent', 'id', dispatch_test.id(11))
            ),
            'user', dispatch_test.id(2)
        ) as u
    ),
    'blocked pause_unreadable 1',
    'T107: when the pause cannot be read, no wake is admitted'
);
select is(
    (select i.assignee_id from dispatch.issue as i where i.id = dispatch_test.id(101)),
    dispatch_test.id(11),
    'T107: the assignment is stored'
);
select is(
    (select count(*) from dispatch.run as r where r.issue_id = dispatch_test.id(101)),
    0::bigint,
    'T107: there is no run'
);
select is_empty(
    'select from dispatch.deferred_assignment as o', 'T107: nothing is kept for a replay'
);
select is(pg_temp.counters(), 'pause_unreadable=1', 'T107: it is counted');
select is(
    (select format('%s %s', e.metric, e.detail) from dispatch.gate_event as e), 'pause {}',
    'and the record tells nothing of the error'
);
select is(
    dispatch_test.error_of(format(
        'select c.run_id from dispatch.claim_run(%L, %L) as c', dispatch_test.id(1),
        dispatch_test.id(13)
    )),
    '58030',
    'a claim ends in the error'
);
select is(
    (select r.status::text from dispatch.run as r), 'queued', 'and moves nothing'
);
select is(pg_temp.with_code('40001'), '40001', 'a serialization failure passes through');
select is(pg_temp.with_code('40P01'), '40P01', 'so does a deadlock');
select is(pg_temp.with_code('57014'), '57014', 'so does a cancelled statement');
select is(pg_temp.with_code('0A000'), '0A000', 'so does what the server cannot do');
select is(pg_temp.counters(), 'pause_unreadable=1', 'of these nothing is counted');

select * from finish();
rollback;

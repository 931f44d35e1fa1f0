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

create function pg_temp.counters() returns text
language sql
as $fn$
    select string_agg(c.reason || '=' || c.value, ' ' order by c.reason)
    from dispatch.gate_counters as c
    where c.value > 0;
$fn$;

create temp table broken (code text) on commit drop;
grant select on broken to dispatch_owner;
insert into broken (code) values ('58030');
create or replace function dispatch._find_duplicate(
    p_workspace_id uuid,
    p_idempotency_key text,
    p_at timestamptz
)
returns uuid
language plpgsql
stable
as $fn$
begin
    raise exception using
        errcode = (select b.code from pg_temp.broken as b), message = 'no look today';
end;
$fn$;
create function pg_temp.ask(p_key text) returns text
language plpgsql
as $fn$
begin
    return (
        select d.outcome
        from dispatch.queue_wake(
            dispatch_test.id(1), dispatch_test.id(11), 'mention', '{}', p_key,
            dispatch_test.id(101)
        ) as d
    );
exception
    when query_canceled or others then
        return sqlstate;
end;
$fn$;

select is(
    pg_temp.ask('k'), '58030', 'T67: a failing look-up is an error to the caller'
);
select is_empty('select from dispatch.run as r', 'T67: nothing is written');
select is(pg_temp.counters(), null, 'T67: nothing is counted');
select is(pg_temp.ask(null), 'queued', 'a wake without a key looks for none');
select is(pg_temp.ask(''), 'coalesced', 'nor does one with an empty key');
select is(
    dispatch_test.error_of(
        $$
        select d.outcome
        from dispatch.queue_wakes(
            dispatch_test.id(1),
            jsonb_build_array(
                jsonb_build_object('agent_id', dispatch_test.id(12), 'reason', 'a'),
                jsonb_build_object(
                    'agent_id', dispatch_test.id(13), 'reason', 'a', 'idempotency_key', 'k'
                )
            )
        ) as d
        $$
    ),
    '58030',
    'in a batch it is the error of the call'
);
select is((select count(*) from dispatch.run as r), 1::bigint, 'of which nothing stays');
update broken set code = '40001';
select is(pg_temp.ask('k'), '40001', 'a serialization failure is raised as it is');

select * from finish();
rollback;

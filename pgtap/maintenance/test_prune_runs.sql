begin;
select plan(9);

select dispatch_test.set_clock('2030-01-15 12:00:00+00');
select dispatch.put_workspace(dispatch_test.id(1), 'Works');
select dispatch.put_member(dispatch_test.id(1), dispatch_test.id(2), 'Ana');
select dispatch.put_runtime(dispatch_test.id(1), dispatch_test.id(3), 'daemon-1');
select dispatch.heartbeat(dispatch_test.id(1), array[dispatch_test.id(3)]);
select dispatch.put_agent(
    dispatch_test.id(1), dispatch_test.id(4), 'alpha', dispatch_test.id(2), dispatch_test.id(3),
    p_max_concurrent_runs => 50
);
insert into dispatch.issue (
    workspace_id, id, number, title, status, priority, creator_type, created_at, updated_at
)
select
    dispatch_test.id(1), dispatch_test.id(100 + n), n, 'issue', 'todo', 'none', 'system',
    dispatch.clock(), dispatch.clock()
from generate_series(1, 1) as n;

create function pg_temp.ended(p_name text, p_status dispatch.run_status)
returns uuid
language plpgsql
as $fn$
declare
    v_run constant uuid := (dispatch.queue_wake(
        dispatch_test.id(1), dispatch_test.id(4), p_name,
        p_chat_session_id => gen_random_uuid()
    )).run_id;
begin
    update dispatch.run as r
    set status = p_status, finished_at = dispatch.clock()
    where r.id = v_run;
    return v_run;
end;
$fn$;
create function pg_temp.prune()
returns integer
language sql
as $fn$
    select t.rows from dispatch.tick('prune') as t;
$fn$;
create function pg_temp.counted(p_reason text)
returns bigint
language sql
as $fn$
    select c.value from dispatch.gate_counters as c where c.reason = p_reason;
$fn$;

select dispatch.queue_wake(
    dispatch_test.id(1), dispatch_test.id(4), 'alive', p_chat_session_id => gen_random_uuid()
);
select pg_temp.ended('completed', 'completed'), pg_temp.ended('failed', 'failed');
create temp table run on commit drop as
select
    pg_temp.ended('cancelled', 'cancelled') as parent,
    (
        select d.run_id
        from dispatch.queue_wake(
            dispatch_test.id(1), dispatch_test.id(4), 'slot', '{"n": 1}', 'key',
            dispatch_test.id(101)
        ) as d
    ) as slot;
select dispatch.queue_wake(
    dispatch_test.id(1), dispatch_test.id(4), 'slot', '{"n": 2}',
    p_issue_id => dispatch_test.id(101)
);
select dispatch.queue_wake(
    dispatch_test.id(1), dispatch_test.id(4), 'other', p_issue_id => dispatch_test.id(101)
)
from generate_series(1, 3);
select dispatch.claim_run(dispatch_test.id(1), dispatch_test.id(4));
select dispatch.cancel_run(dispatch_test.id(1), r.slot, 'system') from run as r;
select is(
    pg_temp.counted('coalesced') || ' ' || pg_temp.counted('already_active'), '1 3',
    'one wake was merged and three were absorbed'
);
select dispatch_test.advance_clock(interval '1 second');
select pg_temp.ended('younger', 'completed');
create temp table child on commit drop as
select d.run_id as id
from dispatch.queue_wake(
    dispatch_test.id(1), dispatch_test.id(4), 'child', p_chat_session_id => gen_random_uuid()
) as d;
update dispatch.run_detail as d
set parent_run_id = r.parent
from run as r
cross join child as c
where d.run_id = c.id;

select dispatch_test.advance_clock(interval '2160 hours' - interval '1 second');
select is(pg_temp.prune(), 0, 'a run that ended exactly 90 days ago is kept');
select dispatch_test.advance_clock(interval '1 microsecond');
select is(pg_temp.prune(), 4, 'a microsecond later what ended then is deleted');
select is(
    (select string_agg(v.reason, ' ' order by v.reason) from dispatch.runs as v),
    'alive child younger', 'and nothing else: not what is alive, nor what ended later'
);
select is(
    (select count(*) from dispatch.run_trigger as t), 0::bigint, 'its wakes went with it'
);
select is(
    pg_temp.counted('coalesced') || ' ' || pg_temp.counted('already_active'), '1 3',
    'no counter goes back'
);
select results_eq(
    'select o.metric, o.reason, o.value from dispatch.gate_total as o order by o.metric',
    $$values
        ('coalesce', 'coalesced', 1::bigint), ('pending_slot', 'already_active', 3::bigint)$$,
    'their sums are kept'
);
select is(
    (
        select d.parent_run_id = r.parent
        from run as r
        cross join child as c
        inner join dispatch.run_detail as d on d.run_id = c.id
    ),
    true, 'the link of a younger run stays as it was'
);
select is(
    (
        select d.outcome::text
        from dispatch.queue_wake(
            dispatch_test.id(1), dispatch_test.id(4), 'k', '{}', 'key'
        ) as d
    ),
    'queued', 'a key is free again with its run'
);

select * from finish();
rollback;

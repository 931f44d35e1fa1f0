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

create function pg_temp.counters() returns text
language sql
as $fn$
    select string_agg(c.reason || '=' || c.value, ' ' order by c.reason)
    from dispatch.gate_counters as c
    where c.value > 0;
$fn$;

create function pg_temp.ask(
    p_agent integer,
    p_issue integer,
    p_key text,
    p_reason text default 'mention'
)
returns text
language sql
as $fn$
    select d.outcome || ' ' || d.reason_code
    from dispatch.queue_wake(
        dispatch_test.id(1), dispatch_test.id(10 + p_agent), p_reason, '{}', p_key,
        dispatch_test.id(100 + p_issue)
    ) as d;
$fn$;
create function pg_temp.age(p_key text, p_age interval) returns void
language sql
as $fn$
    with aged as (
        update dispatch.run_detail as d
        set requested_at = dispatch.clock() - p_age
        where d.idempotency_key = p_key
        returning d.run_id
    )
    update dispatch.run as r
    set requested_at = dispatch.clock() - p_age
    from aged as a
    where r.id = a.run_id;
$fn$;

select pg_temp.ask(1, 1, 'k');
select pg_temp.age('k', dispatch.duplicate_window() - interval '1 microsecond');
select is(
    pg_temp.ask(1, 1, 'k'), 'deduplicated duplicate_recent',
    'T59: a key of 23:59:59.999999 is a recent duplicate, whatever run waits'
);
select is(
    pg_temp.ask(2, 2, 'k', 'other'), 'deduplicated duplicate_recent',
    'T62: whichever agent, issue and reason had it'
);
select pg_temp.age('k', dispatch.duplicate_window());
select is(
    pg_temp.ask(2, 2, 'k'), 'deduplicated duplicate_key',
    'one of exactly 24 hours is found by the index'
);
select is(
    pg_temp.ask(1, 1, 'k'), 'absorbed already_active',
    'but not before the slot: the run that waits absorbs the wake'
);
select is(
    pg_temp.counters(), 'already_active=1 duplicate_key=1 duplicate_recent=2',
    'the two are counted apart'
);
select is(
    (select count(*) from dispatch.run as r), 1::bigint,
    'R10: no duplicate left anything in the queue'
);

select is(
    pg_temp.ask(3, 1, null) || ', ' || pg_temp.ask(4, 1, null) || ', ' || pg_temp.ask(5, 1, ''),
    'queued queued, queued queued, queued queued',
    'T63, R13: no key and an empty one are no duplicates'
);
select is(
    (
        select count(*) from dispatch.run_detail as d where d.idempotency_key is null
    ),
    3::bigint,
    'T63, R13: and stand as NULL'
);

select is(
    pg_temp.ask(3, 1, 'merged'), 'coalesced coalesced', 'T65: a keyed wake that merges'
);
select dispatch_test.advance_clock(interval '6 seconds');
select dispatch.cancel_run(dispatch_test.id(1), r.id, 'system')
from dispatch.run as r
where r.agent_id = dispatch_test.id(13);
select is(
    pg_temp.ask(3, 1, 'merged'), 'queued queued',
    'T66: leaves its key free: delivered again it is a wake'
);
select is(
    pg_temp.ask(4, 1, 'absorbed') || ', ' || pg_temp.ask(6, 2, 'absorbed'),
    'absorbed already_active, queued queued',
    'so does one that was absorbed'
);
select pg_temp.ask(7, 1, 'task_assigned:t1:a');
select is(
    pg_temp.ask(8, 1, 'task_assigned:t1:a:2'), 'queued queued',
    'T70: a key that begins like another one is another one'
);
select is(
    (
        select d.outcome || ' ' || d.reason_code
        from dispatch.queue_wake(
            dispatch_test.id(1), dispatch_test.id(21), 'mention', '{}', 'k',
            p_fire_at => '2030-01-16 12:00:00+00'
        ) as d
    ),
    'deduplicated duplicate_key',
    'a wake for later is a duplicate as well'
);

select * from finish();
rollback;

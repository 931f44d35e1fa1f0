begin;
select plan(5);

select dispatch_test.set_clock('2030-01-15 12:00:00+00');
select dispatch.put_workspace(dispatch_test.id(1), 'Works');
select dispatch.put_member(dispatch_test.id(1), dispatch_test.id(2), 'Ana');
select dispatch.put_runtime(dispatch_test.id(1), dispatch_test.id(3), 'daemon-1');
select dispatch.heartbeat(dispatch_test.id(1), array[dispatch_test.id(3)]);
select dispatch.put_agent(
    dispatch_test.id(1), dispatch_test.id(4), 'alpha', dispatch_test.id(2), dispatch_test.id(3)
);

select dispatch.put_runtime(dispatch_test.id(1), dispatch_test.id(6), 'daemon-2');
select dispatch.heartbeat(dispatch_test.id(1), array[dispatch_test.id(6)]);
create function pg_temp.ask(p_chat integer)
returns uuid
language sql
as $fn$
    select d.run_id
    from dispatch.queue_wake(
        dispatch_test.id(1), dispatch_test.id(4), 'tick',
        p_chat_session_id => dispatch_test.id(p_chat)
    ) as d;
$fn$;
-- a chat and a quick-create run are given back to a runtime that then goes offline
create temp table old on commit drop as
select pg_temp.ask(50) as chat, pg_temp.ask(null) as quick;
select count(*) from dispatch.claim_runs(dispatch_test.id(1), array[dispatch_test.id(3)], 2, 2);
select dispatch.bind_agent(dispatch_test.id(1), dispatch_test.id(4), dispatch_test.id(6));
select dispatch.requeue_run(dispatch_test.id(1), r.id, 1) from dispatch.run as r;
select dispatch.set_runtime_offline(dispatch_test.id(1), dispatch_test.id(3));
create temp table new on commit drop as
select pg_temp.ask(50) as chat, pg_temp.ask(null) as quick;

select is(
    (
        select count(*) from dispatch.run as r where r.runtime_id = dispatch_test.id(3)
    ),
    2::bigint,
    'what was given back waits on the runtime that had it'
);
select set_eq(
    $$
    select c.run_id
    from dispatch.claim_runs(dispatch_test.id(1), array[dispatch_test.id(6)], 9, 9) as c
    $$,
    $$
    select u.id as run_id
    from new as n
    cross join lateral unnest(array[n.chat, n.quick]) as u (id)
    $$,
    'R04: only an active run holds a lane; one queued on a dead runtime hides none'
);
select dispatch.heartbeat(dispatch_test.id(1), array[dispatch_test.id(3)]);
select is(
    (
        select count(*)
        from dispatch.claim_runs(dispatch_test.id(1), array[dispatch_test.id(3)], 9, 9)
    ),
    0::bigint,
    'R02: while the lanes are taken the old ones wait'
);
select dispatch.cancel_run(dispatch_test.id(1), (select n.chat from new as n), 'system');
select results_eq(
    $$
    select c.run_id
    from dispatch.claim_run(
        dispatch_test.id(1), dispatch_test.id(4), dispatch_test.id(3)
    ) as c
    $$,
    'select o.chat from old as o',
    'R02: and go when they are free'
);
select is(
    (
        select count(*)
        from dispatch.run as r
        where r.status in ('dispatched', 'waiting_local_directory', 'running')
    ),
    2::bigint,
    'R13: each lane has one active run'
);

select * from finish();
rollback;

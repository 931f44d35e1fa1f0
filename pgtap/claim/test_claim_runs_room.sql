begin;
select plan(9);

select dispatch_test.set_clock('2030-01-15 12:00:00+00');
select dispatch.put_workspace(dispatch_test.id(1), 'Works');
select dispatch.put_member(dispatch_test.id(1), dispatch_test.id(2), 'Ana');
select dispatch.put_runtime(dispatch_test.id(1), dispatch_test.id(3), 'daemon-1');
select dispatch.heartbeat(dispatch_test.id(1), array[dispatch_test.id(3)]);
-- alpha has room for two runs, beta for one
select dispatch.put_agent(
    dispatch_test.id(1), dispatch_test.id(a.id), a.name, dispatch_test.id(2),
    dispatch_test.id(3), 'private', a.room
)
from (values (4, 'alpha', 2), (5, 'beta', 1)) as a (id, name, room);

create function pg_temp.ask(p_agent integer, p_chat integer, p_priority integer)
returns uuid
language sql
as $fn$
    select d.run_id
    from dispatch.queue_wake(
        dispatch_test.id(1), dispatch_test.id(p_agent), 'tick',
        p_chat_session_id => dispatch_test.id(p_chat), p_priority => p_priority
    ) as d;
$fn$;
create function pg_temp.take(p_max integer, p_per_agent integer)
returns setof uuid
language sql
as $fn$
    select c.run_id
    from dispatch.claim_runs(
        dispatch_test.id(1), array[dispatch_test.id(3)], p_max, p_per_agent, true
    ) as c;
$fn$;
create temp table busy on commit drop as select pg_temp.ask(4, 50, 9) as id;
select is(
    (select t.id from pg_temp.take(1, 1) as t (id)), (select b.id from busy as b),
    'a run of the first chat is under way'
);

create temp table waiting on commit drop as
select
    pg_temp.ask(4, 50, 8) as blocked, pg_temp.ask(4, 51, 7) as next,
    pg_temp.ask(4, 52, 6) as last, pg_temp.ask(5, 53, 5) as other,
    pg_temp.ask(5, 54, 4) as late;
select results_eq(
    $$select t.id from pg_temp.take(1, 1) as t (id)$$,
    $$select w.next from waiting as w$$,
    'a run whose chat is busy gives its agent''s only room to the next one'
);
select dispatch.complete_run(dispatch_test.id(1), w.next, 1) from waiting as w;
select set_eq(
    $$select t.id from pg_temp.take(2, 2) as t (id)$$,
    $$
    select u.id
    from waiting as w
    cross join lateral unnest(array[w.last, w.other]) as u (id)
    $$,
    'and takes no place of the call from other agents'
);
select is_empty(
    $$select t.id from pg_temp.take(9, 9) as t (id)$$,
    'what is left has a busy chat or an agent without room'
);
select dispatch.complete_run(dispatch_test.id(1), b.id, 1) from busy as b;
select results_eq(
    $$select t.id from pg_temp.take(9, 9) as t (id)$$,
    $$select w.blocked from waiting as w$$,
    'the chat is served when it is free'
);
select is(
    (
        select max(n.runs)
        from (
            select count(*) as runs
            from dispatch.run as r
            where r.status = 'running'
            group by r.agent_id
        ) as n
    ),
    2::bigint,
    'no agent is over its room'
);

-- a second runtime of the daemon, and two agents more on the first
select dispatch.put_runtime(dispatch_test.id(1), dispatch_test.id(6), 'daemon-1');
select dispatch.heartbeat(dispatch_test.id(1), array[dispatch_test.id(6)]);
select dispatch.put_agent(
    dispatch_test.id(1), dispatch_test.id(a.id), a.name, dispatch_test.id(2),
    dispatch_test.id(a.runtime), 'private', a.room
)
from (
    values (7, 'gamma', 3, 1), (8, 'delta', 6, 9), (9, 'eps', 3, 9), (10, 'zeta', 3, 9)
) as a (id, name, runtime, room);
select pg_temp.ask(7, 100 + n, 90) from generate_series(1, 20) as n;
select pg_temp.ask(9, 200, 80), pg_temp.ask(8, 201, 70);
select results_eq(
    $$
    select c.priority
    from dispatch.claim_runs(
        dispatch_test.id(1), array[dispatch_test.id(3), dispatch_test.id(6)], 2
    ) as c
    $$,
    $$values (90), (80)$$,
    'many runs of an agent without room let no lesser run of another runtime overtake'
);

select pg_temp.ask(9, 300 + n, 60) from generate_series(1, 2) as n;
select pg_temp.ask(9, 310 + n, 40) from generate_series(1, 2) as n;
select pg_temp.ask(10, 320 + n, 30) from generate_series(1, 2) as n;
select results_eq(
    $$
    select c.priority
    from dispatch.claim_runs(dispatch_test.id(1), array[dispatch_test.id(3)], 5, 3) as c
    $$,
    $$values (60), (60), (40), (30), (30)$$,
    'p_per_agent counts what the call has handed out, and hides nobody else''s runs'
);

select dispatch.create_issue(
    dispatch_test.id(1), 'One', 'system', p_issue_id => dispatch_test.id(400)
);
select pg_temp.ask(10, 400, 99);
select dispatch.queue_wake(
    dispatch_test.id(1), dispatch_test.id(10), 'tick', p_issue_id => dispatch_test.id(400),
    p_priority => 98
);
select results_eq(
    $$
    select c.priority
    from dispatch.claim_runs(dispatch_test.id(1), array[dispatch_test.id(3)], 2, 2) as c
    where c.agent_id = dispatch_test.id(10)
    $$,
    $$values (99)$$,
    'a chat and an issue of one id are one lane, also within a call'
);

select * from finish();
rollback;

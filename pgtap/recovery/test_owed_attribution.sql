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
insert into dispatch.issue (
    workspace_id, id, number, title, status, priority, creator_type, created_at, updated_at
)
select
    dispatch_test.id(1), dispatch_test.id(100 + n), n, 'issue', 'todo', 'none', 'system',
    dispatch.clock(), dispatch.clock()
from generate_series(1, 1) as n;

-- asks for a run of alpha on the issue with a wake that is told apart by its number
create function pg_temp.wake(p_n integer, p_pad integer default 0)
returns dispatch.decision
language sql
as $fn$
    select dispatch.queue_wake(
        dispatch_test.id(1), dispatch_test.id(4), 'mention',
        jsonb_build_object('n', p_n) || case
            when p_pad > 0 then jsonb_build_object('pad', repeat('x', p_pad)) else '{}'
        end,
        p_issue_id => dispatch_test.id(101), p_coalesce => false
    );
$fn$;
-- the numbers of the wakes that the next claim delivers
create function pg_temp.take()
returns text
language sql
as $fn$
    select string_agg(
        concat(t.value -> 'payload' ->> 'n', 'x' || nullif(t.value ->> 'count', '1')), ' '
        order by t.ordinality
    )
    from dispatch.claim_run(dispatch_test.id(1), dispatch_test.id(4)) as c
    cross join lateral jsonb_array_elements(c.triggers) with ordinality as t;
$fn$;

select dispatch.put_member(dispatch_test.id(1), dispatch_test.id(9), 'Ben');
create function pg_temp.ask(p_user integer)
returns uuid
language sql
as $fn$
    select d.run_id
    from dispatch.queue_wake(
        dispatch_test.id(1), dispatch_test.id(4), 'mention', '{}', null, dispatch_test.id(101),
        p_coalesce => false, p_actor_type => 'user', p_actor_id => dispatch_test.id(p_user)
    ) as d;
$fn$;
create temp table run on commit drop as select pg_temp.ask(2) as id;
select pg_temp.take();
select pg_temp.ask(9);
select is(
    (select v.originator_id from dispatch.runs as v), dispatch_test.id(2),
    'absorbing a wake changes nothing of whose authority the run uses'
);
select dispatch.start_run(dispatch_test.id(1), (select r.id from run as r), 1);
select results_eq(
    $$
    select v.originator_id, v.accountable_id
    from dispatch.runs as v
    where v.status = 'queued'
    $$,
    $$values (dispatch_test.id(9), dispatch_test.id(9))$$,
    'the follow-up acts for who asked for what it delivers'
);
select dispatch.complete_run(dispatch_test.id(1), (select r.id from run as r), 1);
create temp table taken on commit drop as
select c.run_id, c.originator_id, c.triggers
from dispatch.claim_run(dispatch_test.id(1), dispatch_test.id(4)) as c;
select is(
    (select jsonb_path_query_array(t.triggers, '$[*].originator_id') from taken as t),
    jsonb_build_array(dispatch_test.id(9)),
    'R19: each wake keeps its own originator'
);
select is(
    (select jsonb_path_query_array(t.triggers, '$[*].actor_id') from taken as t),
    jsonb_build_array(dispatch_test.id(9)),
    'R19: and its actor'
);
select dispatch.put_workspace(
    dispatch_test.id(1), 'Works', p_attribution_policy => 'fail_closed'
);
select pg_temp.ask(2);
select isnt(
    (
        select s.follow_up_run_id
        from taken as t
        cross join lateral dispatch.start_run(dispatch_test.id(1), t.run_id, 1) as s
    ),
    null,
    'an admitted wake is delivered whatever the policy says by then'
);

select * from finish();
rollback;

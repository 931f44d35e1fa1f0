begin;
select plan(10);

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

create function pg_temp.wake(p_issue integer, p_n integer)
returns uuid
language sql
as $fn$
    select d.run_id
    from dispatch.queue_wake(
        dispatch_test.id(1), dispatch_test.id(4), 'work', jsonb_build_object('n', p_n),
        p_issue_id => dispatch_test.id(100 + p_issue), p_coalesce => false
    ) as d;
$fn$;
create function pg_temp.rerun(p_run_id uuid)
returns dispatch.decision
language sql
as $fn$
    select d
    from dispatch.rerun(dispatch_test.id(1), p_run_id, 'user', dispatch_test.id(2)) as d;
$fn$;
create function pg_temp.status_of(p_run_id uuid)
returns text
language sql
as $fn$
    select r.status::text from dispatch.run as r where r.id = p_run_id;
$fn$;
-- Claims one run and answers with the numbers of the wakes it delivers.
create function pg_temp.take()
returns text
language sql
as $fn$
    select string_agg(g.wake -> 'payload' ->> 'n', ' ' order by g.place)
    from dispatch.claim_run(dispatch_test.id(1), dispatch_test.id(4)) as c
    cross join lateral jsonb_array_elements(c.triggers)
        with ordinality as g (wake, place);
$fn$;

create temp table run on commit drop as select pg_temp.wake(1, 1) as id;
select dispatch.put_workspace(dispatch_test.id(1001), 'Other', 'OTHER');
select dispatch.put_member(dispatch_test.id(1001), dispatch_test.id(2), 'Ana');
create function pg_temp.error_of(
    p_workspace integer, p_run uuid, p_type text, p_actor uuid, p_role text default null
)
returns text
language sql
as $fn$
    select dispatch_test.error_of(
        format(
            'select dispatch.rerun(%L, %L, %L, %L)', dispatch_test.id(p_workspace), p_run,
            p_type, p_actor
        ),
        p_role
    );
$fn$;
create temp table zero (id uuid) on commit drop;
insert into zero (id) values ('00000000-0000-0000-0000-000000000000');

select is(
    pg_temp.error_of(null, r.id, 'system', null), 'PD400 p_workspace_id', 'no workspace'
)
from run as r;
select is(pg_temp.error_of(1, null, 'system', null), 'PD400 p_run_id', 'no run');
select is(
    pg_temp.error_of(1, z.id, 'system', null), 'PD400 p_run_id', 'the all-zero run'
)
from zero as z;
select is(pg_temp.error_of(1, r.id, null, null), 'PD400 p_actor_type', 'no actor')
from run as r;
select is(pg_temp.error_of(1, r.id, 'robot', null), 'PD400 p_actor_type', 'an unknown actor')
from run as r;
select is(
    pg_temp.error_of(1, r.id, 'agent', null), 'PD400 p_actor_id', 'an agent without an id'
)
from run as r;
select is(
    pg_temp.error_of(1, dispatch_test.id(99), 'user', dispatch_test.id(2)), 'PD404 p_run_id',
    'an unknown run'
);
select is(
    pg_temp.error_of(1001, r.id, 'user', dispatch_test.id(2)), 'PD404 p_run_id',
    'a run of another workspace'
)
from run as r;
select is(
    pg_temp.error_of(1, r.id, 'system', null, 'dispatch_worker'), '42501',
    'a daemon asks for no rerun'
)
from run as r;
select is((select count(*) from dispatch.run), 1::bigint, 'nothing was written');

select * from finish();
rollback;

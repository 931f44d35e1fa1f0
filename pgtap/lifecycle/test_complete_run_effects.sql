begin;
select plan(9);

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

create function pg_temp.wake(
    p_issue integer,
    p_payload jsonb default '{}',
    p_priority integer default 0
)
returns uuid
language sql
as $fn$
    select d.run_id
    from dispatch.queue_wake(
        dispatch_test.id(1), dispatch_test.id(4), 'mention', p_payload,
        p_issue_id => dispatch_test.id(100 + p_issue), p_priority => p_priority
    ) as d;
$fn$;

create temp table run on commit drop as select pg_temp.wake(1) as id;
update dispatch.run_detail as d set session_id = 'pinned', work_dir = '/old';
select count(*) from dispatch.claim_run(dispatch_test.id(1), dispatch_test.id(4));

select dispatch.start_run(
    dispatch_test.id(1), (select r.id from run as r), 1, interval '1 hour'
);
select dispatch_test.advance_clock(interval '1 minute');

create function pg_temp.report(p_result jsonb, p_session text, p_dir text, p_lost boolean)
returns text
language sql
as $fn$
    select concat_ws(' ', t.applied, t.status, t.claim_no, t.reason)
    from dispatch.complete_run(
        dispatch_test.id(1), (select r.id from run as r), 1, p_result, p_session, p_dir, p_lost
    ) as t;
$fn$;
select is(
    pg_temp.report('{"n": 1}', null, '/new', false), 't completed 1', 'a running run completes'
);
select results_eq(
    $$
    select v.result, v.session_id, v.work_dir, v.finished_at, v.lease_expires_at, v.error
    from dispatch.runs as v
    $$,
    $$
    values (
        '{"n": 1}'::jsonb, null::text, '/new', '2030-01-15 12:01:00+00'::timestamptz,
        null::timestamptz, null::text
    )
    $$,
    'S4: the result is kept, a session that is not given is cleared, the lease ends'
);
create temp table shot on commit drop as
select r::text || d::text || r.ctid::text || d.ctid::text as shot
from dispatch.run as r
cross join dispatch.run_detail as d;

select dispatch_test.advance_clock(interval '1 minute');
select is(
    pg_temp.report('{"n": 1}', null, '/new', false), 't completed 1',
    'S2: an equal report once more is applied'
);
select is(
    pg_temp.report('{"n": 2}', null, '/new', false), 'f completed 1 already_terminal',
    'R07: another result is not'
);
select is(
    pg_temp.report('{"n": 1}', 's', '/new', false), 'f completed 1 already_terminal',
    'R07: nor another session'
);
select is(
    pg_temp.report('{"n": 1}', null, null, false), 'f completed 1 already_terminal',
    'R07: nor another work directory'
);
select is(
    (
        select concat_ws(' ', t.applied, t.reason)
        from dispatch.fail_run(dispatch_test.id(1), (select r.id from run as r), 1) as t
    ),
    'f already_terminal',
    'a completed run does not fail any more'
);
select is(
    (
        select r::text || d::text || r.ctid::text || d.ctid::text
        from dispatch.run as r
        cross join dispatch.run_detail as d
    ),
    (select s.shot from shot as s),
    'R07: none of the repeats has written anything'
);
select is((select count(*) from dispatch.run), 1::bigint, 'R07: and no run was made');

select * from finish();
rollback;

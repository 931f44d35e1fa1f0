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
from generate_series(1, 3) as n;

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

create function pg_temp.report(p_run_id uuid, p_claim_no integer, p_extra jsonb default '{}')
returns jsonb
language sql
as $fn$
    select jsonb_build_object('run_id', p_run_id, 'claim_no', p_claim_no) || p_extra;
$fn$;

create temp table run on commit drop as
select pg_temp.wake(1) as a, pg_temp.wake(2) as b, pg_temp.wake(3) as c;
select count(*) from dispatch.claim_runs(
    dispatch_test.id(1), array[dispatch_test.id(3)], 3, 3, true
);

select results_eq(
    $$
    select t.applied, t.run_id, t.status::text, t.reason
    from run as r
    cross join lateral dispatch.complete_runs(
        dispatch_test.id(1),
        jsonb_build_array(
            pg_temp.report(
                r.b, 1, '{"result": {"n": 2}, "session_id": "s", "work_dir": "/w"}'
            ),
            pg_temp.report(r.a, 2),
            pg_temp.report(r.c, 1, '{"session_id": "s", "session_lost": true}'),
            pg_temp.report(r.c, 1, '{"session_id": "s", "session_lost": true}'),
            pg_temp.report(r.c, 1, '{"result": 7}'),
            pg_temp.report(dispatch_test.id(99), 1)
        )
    ) as t
    $$,
    $$
    select w.applied, w.run_id, w.status, w.reason
    from run as r
    cross join lateral (
        values
        (true, r.b, 'completed', null),
        (false, r.a, 'running', 'superseded'),
        (true, r.c, 'completed', null),
        (true, r.c, 'completed', null),
        (false, r.c, 'completed', 'already_terminal'),
        (false, dispatch_test.id(99), null, 'not_found')
    ) as w (applied, run_id, status, reason)
    $$,
    'each element stands alone and is answered in the order given; an equal one repeats'
);
select results_eq(
    $$
    select v.result, v.session_id, v.work_dir
    from run as r
    inner join dispatch.runs as v on v.id in (r.b, r.c)
    order by v.id
    $$,
    $$values ('{"n": 2}'::jsonb, 's', '/w'), (null, null, null)$$,
    'each run keeps what its first element says'
);
select results_eq(
    $$
    select t.applied, t.reason
    from run as r
    cross join lateral dispatch.complete_runs(
        dispatch_test.id(1),
        jsonb_build_array(
            pg_temp.report(r.a, 9, '{"result": 9}'), pg_temp.report(r.a, 1, '{"result": 1}')
        )
    ) as t
    $$,
    $$values (false, 'superseded'), (true, null::text)$$,
    'a stale element does not spoil a good one about the same run'
);
select is(
    (select v.result from run as r inner join dispatch.runs as v on v.id = r.a),
    '1'::jsonb,
    'whose result is kept'
);
select is_empty(
    $$select t.applied from dispatch.complete_runs(dispatch_test.id(1), '[]') as t$$,
    'an empty batch has no answer'
);

select * from finish();
rollback;

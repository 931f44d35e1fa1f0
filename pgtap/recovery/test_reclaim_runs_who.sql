begin;
select plan(11);

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
from generate_series(1, 2) as n;

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

select dispatch.put_runtime(dispatch_test.id(1), dispatch_test.id(6), 'daemon-1');
select dispatch.put_runtime(dispatch_test.id(1), dispatch_test.id(8), 'daemon-2');
create temp table run on commit drop as
select pg_temp.wake(1) as a, pg_temp.wake(2, p_priority => 5) as b;
select count(*) from dispatch.claim_runs(dispatch_test.id(1), array[dispatch_test.id(3)], 2, 2);
create function pg_temp.reclaimed(p_runtimes integer[], p_max integer default 10)
returns text
language sql
as $fn$
    select string_agg(case c.run_id when r.a then 'a' when r.b then 'b' end, ' ')
    from run as r
    cross join lateral dispatch.reclaim_runs(
        dispatch_test.id(1),
        (select array_agg(dispatch_test.id(n)) from unnest(p_runtimes) as n), p_max
    ) as c;
$fn$;
select dispatch_test.advance_clock(interval '151 seconds');

select is(pg_temp.reclaimed('{3}'), null, 'R5: nothing for a runtime that is not fresh');
select dispatch.heartbeat(
    dispatch_test.id(1), array[dispatch_test.id(3), dispatch_test.id(6)]
);
select is(pg_temp.reclaimed('{6,99}'), null, 'nothing for another or an unknown runtime');
select is(pg_temp.reclaimed('{3}', 0), null, 'nothing when nothing is asked for');
insert into dispatch.workspace_pause (
    workspace_id, id, reason, paused_at, paused_by_type
)
values (dispatch_test.id(1), dispatch_test.id(90), 'stop', dispatch.clock(), 'system');
select is(pg_temp.reclaimed('{3}'), null, 'R17: nothing while the workspace is paused');
update dispatch.workspace_pause as p
set released_at = dispatch.clock(), released_by_type = 'system';
select dispatch.set_agent_status(dispatch_test.id(1), dispatch_test.id(4), 'paused');
select is(pg_temp.reclaimed('{3}'), null, 'nothing of an agent that is not active');
select dispatch.set_agent_status(dispatch_test.id(1), dispatch_test.id(4), 'active');
select is(pg_temp.reclaimed('{3}', 1), 'b', 'the run of highest priority comes first');
select is(pg_temp.reclaimed('{3,3,6}'), 'a', 'and each run once');
select is(pg_temp.reclaimed('{3}'), null, 'R5: what was handed out again is not stale');
select is(
    dispatch_test.error_of(
        $$
        select dispatch.reclaim_runs(
            dispatch_test.id(1), array[dispatch_test.id(3), dispatch_test.id(8)]
        )
        $$
    ),
    'PD400 p_runtime_ids',
    'the runtimes of one call belong to one daemon'
);
select is(
    concat_ws(
        ', ',
        dispatch_test.error_of('select dispatch.reclaim_runs(null, ''{}'')'),
        dispatch_test.error_of('select dispatch.reclaim_runs(dispatch_test.id(1), null)'),
        dispatch_test.error_of(
            'select dispatch.reclaim_runs(dispatch_test.id(1), ''{}'', null)'
        ),
        dispatch_test.error_of('select dispatch.reclaim_runs(dispatch_test.id(1), ''{}'', -1)')
    ),
    'PD400 p_workspace_id, PD400 p_runtime_ids, PD400 p_max, PD400 p_max',
    'the arguments are required'
);
select is(
    (
        select count(*)
        from dispatch.reclaim_runs(dispatch_test.id(7), array[dispatch_test.id(3)]) as c
    ),
    0::bigint,
    'another workspace sees nothing'
);

select * from finish();
rollback;

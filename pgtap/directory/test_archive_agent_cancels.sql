begin;
select plan(12);
create function pg_temp.id(p_number integer) returns uuid language sql as $fn$
select dispatch_test.id(p_number);
$fn$;
select dispatch_test.set_clock('2030-01-15 12:00:00+00');
select dispatch.put_workspace(pg_temp.id(1), 'Acme');
select dispatch.put_workspace(pg_temp.id(2), 'Other');
select dispatch.put_member(pg_temp.id(1), pg_temp.id(11), 'Ada');
select dispatch.put_runtime(pg_temp.id(1), pg_temp.id(21), 'mac');
select dispatch.heartbeat(pg_temp.id(1), array[pg_temp.id(21)]);
select dispatch.put_agent(
    pg_temp.id(1), pg_temp.id(31), 'Rex', pg_temp.id(11), pg_temp.id(21)
);
select dispatch.put_agent(
    pg_temp.id(1), pg_temp.id(32), 'Other', pg_temp.id(11), pg_temp.id(21)
);
select dispatch.queue_wake(pg_temp.id(1), pg_temp.id(31), 'done');
select dispatch.claim_runs(pg_temp.id(1), array[pg_temp.id(21)], 1, 1, true);
select dispatch.complete_run(pg_temp.id(1), r.id, r.claim_no) from dispatch.runs as r;
select dispatch.queue_wake(pg_temp.id(1), pg_temp.id(31), 'running');
select dispatch.claim_runs(pg_temp.id(1), array[pg_temp.id(21)], 1, 1, true);
select dispatch.queue_wake(pg_temp.id(1), pg_temp.id(31), 'queued');
select dispatch.queue_wake(
    pg_temp.id(1), pg_temp.id(31), 'deferred',
    p_fire_at => dispatch.clock() + interval '1 hour'
);
select dispatch.queue_wake(pg_temp.id(1), pg_temp.id(32), 'foreign');

create function pg_temp.states() returns text language sql as $fn$
select string_agg(format('%s %s', r.reason, r.status), ', ' order by r.reason)
from dispatch.runs as r;
$fn$;
select is(
    pg_temp.states(),
    'deferred deferred, done completed, foreign queued, queued queued, running running',
    'before'
);

select dispatch_test.set_clock('2030-01-15 12:05:00+00');
select is(
    dispatch.archive_agent(pg_temp.id(1), pg_temp.id(31)), 3,
    'archiving tells how many runs it cancelled'
);
select is(
    pg_temp.states(),
    'deferred cancelled, done completed, foreign queued, queued cancelled, running cancelled',
    'those that had not ended, deferred ones too, and no other agent''s'
);
select is(
    (
        select string_agg(distinct format('%s %s', r.error, r.finished_at), ',')
        from dispatch.runs as r
        where r.status = 'cancelled'
    ),
    'agent archived 2030-01-15 12:05:00+00', 'with their reason and instant'
);
select is(
    (select a.archived_at from dispatch.agent as a where a.id = pg_temp.id(31)),
    '2030-01-15 12:05:00+00'::timestamptz, 'the agent is archived'
);

select dispatch_test.set_clock('2030-01-15 12:06:00+00');
create temporary table seen as
select a.ctid as place from dispatch.agent as a where a.id = pg_temp.id(31);
select is(
    dispatch.archive_agent(pg_temp.id(1), pg_temp.id(31)), 0, 'repeating it cancels none'
);
select is(
    (select a.ctid from dispatch.agent as a where a.id = pg_temp.id(31)),
    (select s.place from seen as s), 'and keeps the first instant'
);
select is(
    (select d.reason_code::text from dispatch.queue_wake(
        pg_temp.id(1), pg_temp.id(31), 'late'
    ) as d),
    'target_unavailable', 'an archived agent is not woken'
);

select is(dispatch_test.error_of(t.call), t.error, t.what)
from (
    values
        (
            $$select dispatch.archive_agent(pg_temp.id(9), pg_temp.id(31))$$,
            'PD404 p_workspace_id', 'an unknown workspace'
        ),
        (
            $$select dispatch.archive_agent(pg_temp.id(2), pg_temp.id(31))$$,
            'PD404 p_agent_id', 'an agent of another workspace'
        ),
        (
            $$select dispatch.archive_agent(pg_temp.id(1), null)$$,
            'PD400 p_agent_id', 'no agent'
        ),
        (
            $$select dispatch.archive_agent(
                pg_temp.id(1), '00000000-0000-0000-0000-000000000000'
            )$$,
            'PD400 p_agent_id', 'the all-zero agent'
        )
) as t (call, error, what);

select * from finish();
rollback;

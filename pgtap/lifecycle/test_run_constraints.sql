begin;
select plan(6);

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

create temp table run on commit drop as select pg_temp.wake(1) as a, pg_temp.wake(2) as b;
select count(*) from dispatch.claim_runs(
    dispatch_test.id(1), array[dispatch_test.id(3)], 1, 1, true
);
select dispatch.complete_run(dispatch_test.id(1), (select r.a from run as r), 1);

create function pg_temp.change(p_run_id uuid, p_set text)
returns text
language sql
as $fn$
    select dispatch_test.error_of(
        format('update dispatch.run as r set %s where r.id = %L', p_set, p_run_id)
    );
$fn$;

select is(
    pg_temp.change((select r.b from run as r), 'runtime_id = null'), '23514',
    'Q6: a queued run keeps its runtime'
);
select is(
    pg_temp.change((select r.a from run as r), 'runtime_id = null'), '00000',
    'Q6: an ended one may lose it'
);
select is(
    (
        select string_agg(
            distinct pg_temp.change(
                r.a, format('status = %L, finished_at = null', s.status)
            ),
            ', '
        )
        from run as r
        cross join unnest(array['deferred', 'queued', 'dispatched', 'running']) as s (status)
    ),
    'PD500 status',
    'an ended run never lives again, whoever writes'
);
select is(
    pg_temp.change((select r.a from run as r), 'status = ''failed'''), 'PD500 status',
    'nor does it end in another way'
);
select is(
    pg_temp.change((select r.a from run as r), 'issue_id = null'), '00000',
    'its links may be cleared'
);
select is(
    (
        select concat_ws(' ', v.status, v.runtime_id, v.issue_id)
        from dispatch.runs as v
        where v.id = (select r.a from run as r)
    ),
    'completed',
    'and nothing else has changed'
);

select * from finish();
rollback;

begin;
select plan(9);

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

-- The payload of an assignment, made by an actor of a type.
create function pg_temp.by(p_issue integer, p_type text default 'agent') returns jsonb
language sql
as $fn$
    select jsonb_strip_nulls(jsonb_build_object(
        'task_id', dispatch_test.id(100 + p_issue), 'actor_type', p_type,
        'actor_id', dispatch_test.id(99)
    ));
$fn$;

create function pg_temp.wake(
    p_agent integer,
    p_issue integer,
    p_payload jsonb,
    p_key text default null,
    p_reason text default 'task_assigned'
)
returns text
language sql
as $fn$
    select d.outcome || ' ' || d.reason_code
    from dispatch.queue_wake(
        dispatch_test.id(1), dispatch_test.id(10 + p_agent), p_reason, p_payload, p_key,
        dispatch_test.id(100 + p_issue)
    ) as d;
$fn$;

create function pg_temp.observed(p_issue integer) returns bigint
language plpgsql
as $fn$
begin
    return dispatch._allowance_count(
        dispatch_test.id(1), dispatch_test.id(100 + p_issue)::text, dispatch.clock()
    );
end;
$fn$;

-- Moves a run back in time, as if it had been asked for then.
create function pg_temp.move(p_run uuid, p_to timestamptz) returns void
language sql
as $fn$
    update dispatch.run_detail as d set requested_at = p_to where d.run_id = p_run;
$fn$;
create function pg_temp.run_of(p_agent integer) returns uuid
language sql
as $fn$
    select r.id
    from dispatch.run as r
    where r.agent_id = dispatch_test.id(10 + p_agent)
    limit 1;
$fn$;
select pg_temp.wake(n, 1, pg_temp.by(1)) from generate_series(1, 5) as n;

select is(pg_temp.observed(1), 5::bigint, 'T18, S10: runs of one instant all count');
select is(
    pg_temp.wake(6, 1, pg_temp.by(1)), 'rate_limited allowance_exhausted',
    'T18, S10: the next one is refused at that same instant'
);
select pg_temp.move(pg_temp.run_of(1), dispatch.clock() - dispatch.allowance_window());
select is(pg_temp.observed(1), 4::bigint, 'T16, S12: a run exactly the window old is out');
select pg_temp.move(
    pg_temp.run_of(1),
    dispatch.clock() - dispatch.allowance_window() + interval '1 microsecond'
);
select is(pg_temp.observed(1), 5::bigint, 'T16: a microsecond younger it is in');
select pg_temp.move(pg_temp.run_of(1), dispatch.clock() + interval '1 microsecond');
select is(pg_temp.observed(1), 4::bigint, 'a run of later than now does not count yet');
select pg_temp.move(pg_temp.run_of(1), dispatch.clock());
select is(pg_temp.observed(1), 5::bigint, 'a run of this very instant does');

-- Every status but queued, one run each.
select count(*) from dispatch.claim_run(dispatch_test.id(1), dispatch_test.id(11));
select count(*) from dispatch.claim_run(dispatch_test.id(1), dispatch_test.id(12));
select dispatch.start_run(dispatch_test.id(1), pg_temp.run_of(2), 1);
select dispatch.complete_run(dispatch_test.id(1), pg_temp.run_of(2), 1);
select count(*) from dispatch.claim_run(dispatch_test.id(1), dispatch_test.id(13));
select dispatch.start_run(dispatch_test.id(1), pg_temp.run_of(3), 1);
select dispatch.fail_run(dispatch_test.id(1), pg_temp.run_of(3), 1, 'agent_error.refused');
select dispatch.cancel_run(dispatch_test.id(1), pg_temp.run_of(4), 'system');
select is(
    (
        select string_agg(distinct r.status::text, ' ')
        from dispatch.run as r
        where r.agent_id <> dispatch_test.id(16)
    ),
    'cancelled completed dispatched failed queued',
    'T19: the runs stand in different statuses'
);
select is(
    pg_temp.wake(6, 1, pg_temp.by(1)), 'rate_limited allowance_exhausted',
    'T19: whatever became of them, they hold their places'
);

delete from dispatch.run_detail as d where d.run_id = pg_temp.run_of(4);
delete from dispatch.run as r where r.id = pg_temp.run_of(4);
select is(
    pg_temp.wake(6, 1, pg_temp.by(1)), 'queued queued',
    'T23, 002.4: a run that is gone returns its place, with no repair'
);

select * from finish();
rollback;

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

select dispatch.put_runtime(dispatch_test.id(1), dispatch_test.id(6), 'daemon-1');
select pg_temp.wake(1);
create function pg_temp.claimed(p_runtime integer default null)
returns integer
language sql
as $fn$
    select count(*)::integer
    from dispatch.claim_run(
        dispatch_test.id(1), dispatch_test.id(4), dispatch_test.id(p_runtime)
    );
$fn$;
create function pg_temp.claimed_again(p_runtime integer default null)
returns integer
language plpgsql
as $fn$
begin
    perform dispatch.requeue_run(dispatch_test.id(1), r.id, r.claim_no) from dispatch.run as r;
    return pg_temp.claimed(p_runtime);
end;
$fn$;

select dispatch_test.set_clock('2030-01-15 12:02:30.000001+00');
select is(pg_temp.claimed(), 0, 'C8: a heartbeat older than 150 seconds: no claim');
select is(
    (select v.status::text from dispatch.runs as v), 'queued', 'C8: the run stays queued'
);
select dispatch_test.set_clock('2030-01-15 12:02:30+00');
select is(pg_temp.claimed(), 1, 'C8: one of exactly 150 seconds is fresh');
select dispatch.set_runtime_offline(dispatch_test.id(1), dispatch_test.id(3));
select is(pg_temp.claimed_again(), 0, 'C8: nor does a runtime claim that is offline');
update dispatch.runtime as r
set status = 'online', last_seen_at = null, updated_at = '2030-01-15 12:00:00+00'
where r.id = dispatch_test.id(3);
select is(pg_temp.claimed_again(), 1, 'C8: without a heartbeat the last change counts');
update dispatch.runtime as r
set updated_at = '2030-01-15 11:59:59+00'
where r.id = dispatch_test.id(3);
select is(pg_temp.claimed_again(), 0, 'C8: as long as it is fresh');

select dispatch.heartbeat(
    dispatch_test.id(1), array[dispatch_test.id(3), dispatch_test.id(6)]
);
select is(pg_temp.claimed(6), 0, 'C9: a run queued for another runtime is not claimed');
select is(pg_temp.claimed(99), 0, 'an unknown runtime is no rows');
select is(pg_temp.claimed(3), 1, 'C9: it is for its own');
select dispatch.requeue_run(dispatch_test.id(1), r.id, r.claim_no) from dispatch.run as r;
select dispatch.bind_agent(dispatch_test.id(1), dispatch_test.id(4), dispatch_test.id(6));
select is(pg_temp.claimed(3), 0, 'a queued run moves with the binding of its agent');
select is(pg_temp.claimed(), 1, 'and is claimed where that is bound now');

select * from finish();
rollback;

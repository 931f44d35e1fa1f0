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

create function pg_temp.ended(p_status dispatch.run_status default 'failed')
returns text
language sql
as $fn$
    select string_agg(v.reason, ' ' order by v.reason)
    from dispatch.runs as v
    where v.status = p_status;
$fn$;

create function pg_temp.wait(
    p_name text, p_age interval, p_due interval default null, p_issue integer default null
)
returns uuid
language plpgsql
as $fn$
declare
    v_run constant uuid := (dispatch.queue_wake(
        dispatch_test.id(1), dispatch_test.id(4), p_name,
        p_issue_id => dispatch_test.id(p_issue),
        p_chat_session_id => case when p_issue is null then gen_random_uuid() end
    )).run_id;
begin
    update dispatch.run as r
    set requested_at = dispatch.clock() - p_age, fire_at = dispatch.clock() - p_due
    where r.id = v_run;
    return v_run;
end;
$fn$;

select pg_temp.wait('a-2-h', interval '2 hours');
select pg_temp.wait('b-more', interval '2 hours 1 microsecond');
create temp table child on commit drop as
select pg_temp.wait('e-of-lost', interval '1 day') as lost,
    pg_temp.wait('f-of-timeout', interval '3 hours') as timed_out;
select pg_temp.wait('c-due', interval '7 days', interval '2 hours');
select pg_temp.wait('d-due-more', interval '7 days', interval '2 hours 1 microsecond');
update dispatch.run_detail as d
set parent_run_id = p.run_id
from child as c
cross join (
    select w.run_id
    from dispatch.queue_wake(dispatch_test.id(1), dispatch_test.id(4), 'parent') as w
) as p
where d.run_id = c.lost;
update dispatch.run_detail as d
set failure_reason = 'runtime_offline'
where d.reason = 'parent';
update dispatch.run_detail as d
set parent_run_id = p.run_id
from child as c
cross join (
    select w.run_id
    from dispatch.queue_wake(
        dispatch_test.id(1), dispatch_test.id(4), 'other parent',
        p_chat_session_id => dispatch_test.id(50)
    ) as w
) as p
where d.run_id = c.timed_out;
update dispatch.run_detail as d set failure_reason = 'timeout' where d.reason = 'other parent';

select is(
    (select s.runs from dispatch.sweep(1, 'queued') as s), 1, 'p_max bounds the sweep'
);
select is(pg_temp.ended(), 'f-of-timeout', 'R8: the oldest goes first');
select is(
    (select s.runs from dispatch.sweep(p_only => 'queued') as s), 2,
    'R8: what nobody claimed for more than 2 h expires'
);
select is(
    pg_temp.ended(), 'b-more d-due-more f-of-timeout',
    'R8: since the request, or since it was due; never the retry of a lost runtime'
);
select is(
    (
        select string_agg(distinct v.failure_reason || ': ' || v.error, ', ')
        from dispatch.runs as v
        where v.status = 'failed'
    ),
    'queued_expired: nobody claimed the run in time', 'it says why'
);
select is(
    (select count(*) from dispatch.runs as v where v.source = 'retry'), 0::bigint,
    'R8: an expired run is not repeated'
);
select dispatch_test.advance_clock(interval '1 microsecond');
select is(
    (select s.runs from dispatch.sweep(p_only => 'queued') as s), 2,
    'R8: a microsecond later so do those of exactly 2 h'
);
select is(
    (
        select count(*)
        from dispatch.runs as v
        where v.reason = 'e-of-lost' and v.status = 'queued'
    ),
    1::bigint, 'R8: the retry of a lost runtime waits on'
);
select pg_temp.wait('g-slot', interval '2 hours', p_issue => 101);
select dispatch.queue_wake(
    dispatch_test.id(1), dispatch_test.id(4), 'also', p_issue_id => dispatch_test.id(101)
);
select dispatch_test.advance_clock(interval '1 second');
select is(
    (select s.runs from dispatch.sweep(p_only => 'queued') as s), 1,
    'a run with two wakes expires'
);
select is(
    (
        select count(*)
        from dispatch.runs as v
        where v.issue_id = dispatch_test.id(101) and v.status <> 'failed'
    ),
    0::bigint, 'and takes both with it: no follow-up keeps the queue of a dead agent full'
);

select * from finish();
rollback;

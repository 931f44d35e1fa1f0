begin;
select plan(13);

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
from generate_series(1, 4) as n;

-- Has the run in hand and fails it, as a daemon would.
create function pg_temp.fail(p_run_id uuid, p_reason text)
returns dispatch.transition
language plpgsql
as $fn$
begin
    update dispatch.run as r
    set status = 'running', claim_no = 1, dispatched_at = dispatch.clock()
    where r.id = p_run_id;
    return dispatch.fail_run(dispatch_test.id(1), p_run_id, 1, p_reason);
end;
$fn$;

-- A run of the pair that failed with its runtime: its retry waits for the runtime.
create function pg_temp.armed(p_issue integer)
returns uuid
language plpgsql
as $fn$
declare
    v_run constant uuid := (dispatch.queue_wake(
        dispatch_test.id(1), dispatch_test.id(4), 'old', '{"n": 1}',
        p_issue_id => dispatch_test.id(100 + p_issue), p_coalesce => false
    )).run_id;
begin
    return (pg_temp.fail(v_run, 'runtime_offline')).retry_run_id;
end;
$fn$;
create function pg_temp.wake(p_issue integer)
returns uuid
language sql
as $fn$
    select d.run_id
    from dispatch.queue_wake(
        dispatch_test.id(1), dispatch_test.id(4), 'new', '{"n": 2}',
        p_issue_id => dispatch_test.id(100 + p_issue), p_coalesce => false
    ) as d;
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

create temp table run on commit drop as
select pg_temp.armed(1) as one, pg_temp.armed(2) as two, pg_temp.armed(3) as three;
select is(
    (
        select concat_ws(' ', pg_temp.status_of(r.one), pg_temp.status_of(r.two))
        from run as r
    ),
    'deferred deferred', 'two retries wait'
);
select pg_temp.wake(1);
select is(
    (select pg_temp.status_of(r.one) from run as r), 'deferred', 'a new wake does not touch one'
);
select is(pg_temp.take(), '2 1', 'the next claim hands its wakes to the run that came first');
select is(
    (
        select concat_ws(' ', v.status, v.error)
        from dispatch.runs as v
        inner join run as r on r.one = v.id
    ),
    'cancelled superseded by another run of the pair', '5.5: and cancels it'
);
select is(
    (select pg_temp.status_of(r.two) from run as r), 'deferred',
    '5.5: the retry of another pair is left alone'
);

select pg_temp.wake(2);
select dispatch_test.advance_clock(interval '1 second');
select is(
    dispatch.promote_deferred(dispatch_test.id(1)), 1, 'a promotion queues the third alone'
);
select is(
    (
        select concat_ws(
            ' ', pg_temp.status_of(r.one), pg_temp.status_of(r.two), pg_temp.status_of(r.three)
        )
        from run as r
    ),
    'cancelled cancelled queued', '5.5: and drops the second, whose pair has a queued run'
);
select is(pg_temp.take(), '1', 'the third delivers its own wake');
select is(pg_temp.take(), '2 1', 'and the run of the second pair what the retry stood for');

-- What a daemon puts off itself is no armed retry.
select dispatch.defer_run(
    dispatch_test.id(1), r.three, 1, dispatch.clock() + interval '1 minute'
)
from run as r;
select pg_temp.wake(3);
select is(pg_temp.take(), '2', 'a wake of the pair runs meanwhile');
select is(
    (select pg_temp.status_of(r.three) from run as r), 'deferred',
    'R14: a retry that its daemon put off keeps waiting for its time'
);
create temp table fourth on commit drop as select pg_temp.armed(4) as id;
select pg_temp.wake(4);
select is(
    dispatch.promote_deferred(dispatch_test.id(1)), 0,
    'before it is due there is nothing to queue'
);
select is(
    (select pg_temp.status_of(f.id) from fourth as f), 'cancelled',
    '5.5: but a promotion cancels a retry that was replaced, due or not'
);

select * from finish();
rollback;

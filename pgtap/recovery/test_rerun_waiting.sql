begin;
select plan(11);

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
from generate_series(1, 3) as n;

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

create temp table run on commit drop as
select
    pg_temp.wake(1, 1) as queued,
    pg_temp.wake(2, 2) as dispatched,
    (
        select d.run_id
        from dispatch.queue_wake(
            dispatch_test.id(1), dispatch_test.id(4), 'work', '{"n": 3}',
            p_issue_id => dispatch_test.id(101),
            p_fire_at => dispatch.clock() + interval '1 hour'
        ) as d
    ) as deferred,
    pg_temp.wake(3, 4) as other;
select dispatch.put_member(dispatch_test.id(1), dispatch_test.id(6), 'Ben', 'admin');
select dispatch.grant_invoke(dispatch_test.id(1), dispatch_test.id(4), 'workspace');
select dispatch.put_agent(
    dispatch_test.id(1), dispatch_test.id(4), 'alpha', dispatch_test.id(2),
    p_permission => 'public_to'
);
create temp table again on commit drop as
select d.outcome::text as outcome, d.run_id as id, d.source
from run as r
cross join lateral dispatch.rerun(
    dispatch_test.id(1), r.queued, 'user', dispatch_test.id(6)
) as d;

select results_eq(
    'select a.outcome, a.source from again as a', $$values ('queued', 'rerun')$$,
    'R18: the rerun of a queued run is a new run'
);
select results_eq(
    $$select pg_temp.status_of(r.queued), pg_temp.status_of(r.deferred),
        pg_temp.status_of(r.other), pg_temp.status_of(r.dispatched)
    from run as r$$,
    $$values ('cancelled', 'cancelled', 'queued', 'queued')$$,
    'R18: what the pair has waiting is cancelled, nothing else'
);
select is(
    (
        select string_agg(distinct v.error, ', ')
        from dispatch.runs as v
        where v.status = 'cancelled'
    ),
    'replaced by a rerun', 'it says why'
);
select results_eq(
    $$select v.originator_id, v.accountable_id, v.attribution_source, v.evidence_kind,
        v.evidence_id, v.actor_type, v.actor_id
    from dispatch.runs as v
    inner join again as a on a.id = v.id$$,
    $$select dispatch_test.id(6), dispatch_test.id(6), 'direct_human', 'rerun', r.queued,
        'user', dispatch_test.id(6)
    from run as r$$,
    'R18: it is an act of whoever asked'
);
select results_eq(
    $$select v.rerun_of_run_id, v.parent_run_id, v.attempt, v.force_fresh, v.session_id,
        v.idempotency_key, v.source
    from dispatch.runs as v
    inner join again as a on a.id = v.id$$,
    $$select r.queued, null::uuid, 1, true, null::text, null::text, 'rerun' from run as r$$,
    'R15: it is marked as a rerun and resumes nothing'
);
select is(pg_temp.take(), '2', 'the second pair is claimed first, having waited longer');
select is(pg_temp.take(), '4', 'then the third');
select is(pg_temp.take(), '1 3', 'the rerun stands for all that it replaced');
create temp table later on commit drop as
select (pg_temp.rerun(r.dispatched)).run_id as id from run as r;
select is(
    (select pg_temp.status_of(r.dispatched) from run as r), 'cancelled',
    'a claim that was not started is replaced too'
);
select is(
    (
        select t.reason
        from run as r
        cross join lateral dispatch.start_run(dispatch_test.id(1), r.dispatched, 1) as t
    ),
    'already_terminal', 'and its daemon may not start it'
);
select is(pg_temp.take(), '2', 'its wake is delivered by the rerun');

select * from finish();
rollback;

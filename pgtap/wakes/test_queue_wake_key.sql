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
select dispatch.put_agent(
    dispatch_test.id(1), dispatch_test.id(5), 'beta', dispatch_test.id(2), dispatch_test.id(3)
);
insert into dispatch.issue (
    workspace_id, id, number, title, status, priority, creator_type, created_at, updated_at
)
select
    dispatch_test.id(1), dispatch_test.id(100 + n), n, 'issue', 'todo', 'none', 'system',
    dispatch.clock(), dispatch.clock()
from generate_series(1, 2) as n;

select dispatch.put_workspace(dispatch_test.id(7), 'Elsewhere');
select dispatch.put_member(dispatch_test.id(7), dispatch_test.id(2), 'Ana');
select dispatch.put_runtime(dispatch_test.id(7), dispatch_test.id(8), 'daemon-7');
select dispatch.put_agent(
    dispatch_test.id(7), dispatch_test.id(9), 'gamma', dispatch_test.id(2), dispatch_test.id(8)
);

create temp table answer on commit drop as
select d.outcome::text, d.reason_code::text, d.run_id, d.agent_id, d.detail
from dispatch.queue_wake(
    dispatch_test.id(1), dispatch_test.id(4), 'mention', '{}', 'k', dispatch_test.id(101)
) as d;
create function pg_temp.again(p_agent integer, p_issue integer)
returns setof record
language sql
as $fn$
    select d.outcome::text, d.run_id, d.agent_id, d.detail
    from dispatch.queue_wake(
        dispatch_test.id(1), dispatch_test.id(p_agent), 'comment', '{"x": 1}', 'k',
        dispatch_test.id(100 + p_issue)
    ) as d;
$fn$;

select is(
    (select a.outcome from answer as a), 'queued', 'R10: the first wake of a key is queued'
);
select results_eq(
    $$
    select g.outcome, g.run_id, g.agent_id
    from pg_temp.again(4, 2) as g (outcome text, run_id uuid, agent_id uuid, detail jsonb)
    $$,
    $$select 'deduplicated', a.run_id, dispatch_test.id(4) from answer as a$$,
    'R10: the next one is told that run, whatever else it asks'
);
select matches(
    (
        select d.reason_code::text
        from dispatch.queue_wake(
            dispatch_test.id(1), dispatch_test.id(4), 'mention', '{}', 'k'
        ) as d
    ),
    '^duplicate_(key|recent)$',
    'the reason says that it is a duplicate'
);
select results_eq(
    $$
    select g.outcome, g.run_id, g.agent_id, g.detail
    from pg_temp.again(5, 2) as g (outcome text, run_id uuid, agent_id uuid, detail jsonb)
    $$,
    $$select 'deduplicated', a.run_id, null::uuid, null::jsonb from answer as a$$,
    'another agent is told neither agent nor detail'
);
select is((select count(*) from dispatch.run), 1::bigint, 'R10: there is one run');
select is(
    (select count(*) from dispatch.run_trigger), 0::bigint, 'a duplicate is not recorded'
);

select count(*) from dispatch.claim_run(dispatch_test.id(1), dispatch_test.id(4));
select dispatch.start_run(dispatch_test.id(1), (select a.run_id from answer as a), 1);
select dispatch.complete_run(dispatch_test.id(1), (select a.run_id from answer as a), 1);
select results_eq(
    $$
    select g.outcome, g.run_id, g.detail ->> 'status'
    from pg_temp.again(4, 2) as g (outcome text, run_id uuid, agent_id uuid, detail jsonb)
    $$,
    $$select 'deduplicated', a.run_id, 'completed' from answer as a$$,
    'R12: a key stays taken after the run has ended, and the answer says how'
);
select dispatch_test.advance_clock(interval '25 hours');
select is(
    (
        select d.outcome || ' ' || d.reason_code
        from dispatch.queue_wake(
            dispatch_test.id(1), dispatch_test.id(4), 'mention', '{}', 'k'
        ) as d
    ),
    'deduplicated duplicate_key',
    'a key is durable beyond a day'
);
select is(
    (
        select d.outcome::text
        from dispatch.queue_wake(
            dispatch_test.id(7), dispatch_test.id(9), 'mention', '{}', 'k'
        ) as d
    ),
    'queued',
    'another workspace has its own keys'
);

select * from finish();
rollback;

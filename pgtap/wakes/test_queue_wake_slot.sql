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
from generate_series(1, 1) as n;

create temp table answer (name text, outcome text, reason_code text, run_id uuid)
on commit drop;
create function pg_temp.ask(p_name text, p_agent integer, p_reason text)
returns text
language sql
as $fn$
    insert into answer (name, outcome, reason_code, run_id)
    select p_name, d.outcome, d.reason_code, d.run_id
    from dispatch.queue_wake(
        dispatch_test.id(1), dispatch_test.id(p_agent), p_reason, p_coalesce => false,
        p_issue_id => dispatch_test.id(101)
    ) as d
    returning answer.outcome || ' ' || answer.reason_code;
$fn$;
create function pg_temp.run_of(p_name text)
returns uuid
language sql
as $fn$
    select a.run_id from answer as a where a.name = p_name;
$fn$;

select pg_temp.ask('first', 4, 'mention');
select is(
    pg_temp.ask('second', 4, 'comment'), 'absorbed already_active',
    'Q1: a queued run of the pair absorbs the next wake'
);
select is(pg_temp.run_of('second'), pg_temp.run_of('first'), 'the answer names that run');
select is(
    pg_temp.ask('other', 5, 'mention'), 'queued queued', 'another agent has its own slot'
);
select is(
    dispatch_test.error_of(
        $$
        insert into dispatch.run (
            workspace_id, id, agent_id, runtime_id, issue_id, lane, status, requested_at
        )
        select
            r.workspace_id, dispatch_test.id(900), r.agent_id, r.runtime_id, r.issue_id, r.lane,
            'queued', r.requested_at
        from dispatch.run as r
        where r.id = pg_temp.run_of('first')
        $$
    ),
    '23505',
    'Q1: a second queued row of the pair breaks the unique index'
);

select count(*) from dispatch.claim_run(dispatch_test.id(1), dispatch_test.id(4));
select is(
    pg_temp.ask('third', 4, 'mention'), 'absorbed already_active',
    'a dispatched run absorbs as well'
);
select dispatch.wait_run(dispatch_test.id(1), pg_temp.run_of('first'), 1, 'checkout');
select dispatch.cancel_run(
    dispatch_test.id(1),
    (
        select r.follow_up_run_id from dispatch.runs as r where r.id = pg_temp.run_of('first')
    ),
    'system'
);
select is(
    pg_temp.ask('fourth', 4, 'mention'), 'queued queued',
    'Q2: beside a waiting run the slot is free'
);
select dispatch.cancel_run(dispatch_test.id(1), pg_temp.run_of('fourth'), 'system');
select dispatch.start_run(dispatch_test.id(1), pg_temp.run_of('first'), 1);
select is(
    pg_temp.ask('fifth', 4, 'mention'), 'queued queued', 'Q2: beside a running run it is free'
);
select is(
    (
        select string_agg(r.status::text, ' ' order by r.status)
        from dispatch.run as r
        where r.agent_id = dispatch_test.id(4) and r.status in ('queued', 'running')
    ),
    'queued running',
    'Q2: both stand side by side'
);
select is(
    (select r.coalesced_count from dispatch.runs as r where r.id = pg_temp.run_of('first')),
    1,
    'an absorbed wake is no merge'
);

select * from finish();
rollback;

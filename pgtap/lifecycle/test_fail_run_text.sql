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
insert into dispatch.issue (
    workspace_id, id, number, title, status, priority, creator_type, created_at, updated_at
)
select
    dispatch_test.id(1), dispatch_test.id(100 + n), n, 'issue', 'todo', 'none', 'system',
    dispatch.clock(), dispatch.clock()
from generate_series(1, 7) as n;

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

create function pg_temp.fail(
    p_issue integer,
    p_error text default null,
    p_session text default null,
    p_lost boolean default false,
    p_reason text default null
)
returns uuid
language plpgsql
as $fn$
declare
    v_run constant uuid := pg_temp.wake(p_issue);
begin
    update dispatch.run_detail as d set session_id = 'pinned' where d.run_id = v_run;
    perform dispatch.claim_run(dispatch_test.id(1), dispatch_test.id(4));
    perform dispatch.fail_run(
        dispatch_test.id(1), v_run, 1, p_reason, p_error, p_session, p_session_lost => p_lost
    );
    return v_run;
end;
$fn$;
create temp table made on commit drop as
select
    pg_temp.fail(1) as plain,
    pg_temp.fail(2, repeat('e', 65536)) as full,  -- noqa: PRS
    pg_temp.fail(3, repeat('e', 65537)) as long,
    pg_temp.fail(4, 'x' || repeat('é', 5000000)) as wide,
    pg_temp.fail(5, p_session => 'new') as session,
    pg_temp.fail(6, p_session => 'new', p_lost => true) as lost,
    pg_temp.fail(7, p_reason => repeat('r', 100)) as reason;
create function pg_temp.get(p_run_id uuid)
returns dispatch.runs
language sql
as $fn$
    select v from dispatch.runs as v where v.id = p_run_id;
$fn$;

select is(
    (select (pg_temp.get(m.plain)).failure_reason from made as m), 'agent_error',
    'a failure without a reason is an error of the agent'
);
select is(
    (select (pg_temp.get(m.full)).error from made as m), repeat('e', 65536),
    'R31: 64 KiB of error are kept whole'
);
select is(
    (select octet_length((pg_temp.get(m.long)).error) <= 65536 from made as m), true,
    'R31: a longer text is cut to the limit'
);
select isnt(
    (select regexp_replace((pg_temp.get(m.long)).error, '^e*', '') from made as m), '',
    'R31: and marked as cut'
);
select results_eq(
    $$
    select
        regexp_replace((pg_temp.get(m.wide)).error, '^xé*', ''),
        octet_length((pg_temp.get(m.wide)).error) between 60000 and 65536
    from made as m
    $$,
    $$select regexp_replace((pg_temp.get(m.long)).error, '^e*', ''), true from made as m$$,
    'R31: 10 MiB are cut at a character and marked likewise'
);
select is(
    (
        select t.applied
        from made as m
        cross join lateral dispatch.fail_run(
            dispatch_test.id(1), m.wide, 1, null, 'x' || repeat('é', 5000000)
        ) as t
    ),
    true,
    'R07: the same long text once more is a repeat'
);
select is(
    (select (pg_temp.get(m.session)).session_id from made as m), 'new',
    'S4: a session that is given replaces the one kept'
);
select is(
    (select (pg_temp.get(m.lost)).session_id from made as m), null,
    'S4: a lost session is cleared even when one is given'
);
select is(
    (select (pg_temp.get(m.reason)).failure_reason from made as m), repeat('r', 100),
    '100 bytes of reason are allowed'
);

select * from finish();
rollback;

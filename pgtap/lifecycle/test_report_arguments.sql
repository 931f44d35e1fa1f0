begin;
select plan(14);

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

create temp table run on commit drop as select pg_temp.wake(1) as id;
select count(*) from dispatch.claim_run(dispatch_test.id(1), dispatch_test.id(4));

create temp table shot on commit drop as
select r::text || d::text as shot from dispatch.run as r cross join dispatch.run_detail as d;

-- the errors, each once, of all reports called with these arguments
create function pg_temp.refusals(p_arguments text)
returns text
language sql
as $fn$
    select string_agg(
        distinct dispatch_test.error_of(
            format('select dispatch.%I(%s%s)', p.name, p_arguments, p.rest)
        ),
        ', '
    )
    from (
        values
        ('start_run', ''), ('wait_run', $$, 'r'$$), ('extend_lease', ''),
        ('defer_run', ', dispatch.clock()'), ('complete_run', ''), ('fail_run', ''),
        ('requeue_run', '')
    ) as p (name, rest);
$fn$;
-- the errors, each once, of one report about the run with each of these arguments
create function pg_temp.refusals_of(p_name text, p_arguments text[])
returns text
language sql
as $fn$
    select string_agg(
        distinct dispatch_test.error_of(
            format('select dispatch.%I(dispatch_test.id(1), %L, 1, %s)', p_name, r.id, a.text)
        ),
        ', '
    )
    from run as r
    cross join unnest(p_arguments) as a (text);
$fn$;

select is(
    pg_temp.refusals('null, dispatch_test.id(9), 1'), 'PD400 p_workspace_id',
    'every report needs its workspace'
);
select is(pg_temp.refusals('dispatch_test.id(1), null, 1'), 'PD400 p_run_id', 'its run');
select is(
    pg_temp.refusals('dispatch_test.id(1), dispatch_test.id(9), null'), 'PD400 p_claim_no',
    'and its claim number'
);
select is(
    pg_temp.refusals('dispatch_test.id(1), ''00000000-0000-0000-0000-000000000000'', 1'),
    'PD400 p_run_id',
    'B2: the all-zero uuid is no run'
);
select is(
    pg_temp.refusals('''00000000-0000-0000-0000-000000000000'', dispatch_test.id(9), 1'),
    'PD400 p_workspace_id',
    'B2: nor is it a workspace'
);
select is(
    concat_ws(
        ', ',
        pg_temp.refusals_of(
            'start_run',
            array['''0''', '''-1 second''', '''25 hours''', '''24 hours 1 microsecond''']
        ),
        pg_temp.refusals_of(
            'extend_lease',
            array['''0''', '''-1 second''', '''25 hours''', '''24 hours 1 microsecond''']
        )
    ),
    'PD400 p_lease, PD400 p_lease',
    'R09: a lease is positive and at most 24 hours'
);
select is(
    pg_temp.refusals_of(
        'defer_run',
        array[
            'null', '''infinity''', '''-infinity''', '''20000-01-01''',
            '''2031-01-16 12:00:00.000001+00'''
        ]
    ),
    'PD400 p_until',
    'R28: a run is put off until a finite time at most 366 days ahead'
);
select is(
    pg_temp.refusals_of('wait_run', array['null', ''' ''']), 'PD400 p_wait_reason',
    'a reason to wait is required'
);
select is(
    pg_temp.refusals_of('complete_run', array['to_jsonb(repeat(''r'', 1048575))']),
    'PD400 p_result',
    'R31: 1 MiB and one byte of result'
);
select is(
    pg_temp.refusals_of('fail_run', array['repeat(''r'', 101)', 'repeat(''é'', 51)']),
    'PD400 p_failure_reason',
    'R31: 101 bytes of reason'
);
select is(
    concat_ws(
        ', ',
        pg_temp.refusals_of('complete_run', array['p_session_lost => null']),
        pg_temp.refusals_of('fail_run', array['p_session_lost => null'])
    ),
    'PD400 p_session_lost, PD400 p_session_lost',
    'whether the session is lost must be said'
);
select is(
    (select r::text || d::text from dispatch.run as r cross join dispatch.run_detail as d),
    (select s.shot from shot as s),
    'nothing was written'
);
select is(
    pg_temp.refusals_of('start_run', array['''24 hours''']), '00000',
    'R09: 24 hours are allowed'
);
select is(
    pg_temp.refusals_of('complete_run', array['to_jsonb(repeat(''r'', 1048574))']), '00000',
    'R31: 1 MiB of result is allowed'
);

select * from finish();
rollback;

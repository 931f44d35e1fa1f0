begin;
select plan(12);

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

-- the errors, each once, of the set-based reports; GOOD stands for a right run and number
create function pg_temp.refusals(
    p_reports text,
    p_names text[] default '{start_runs,complete_runs,fail_runs}'
)
returns text
language sql
as $fn$
    select string_agg(
        distinct dispatch_test.error_of(format(
            'select dispatch.%I(dispatch_test.id(1), %L)', n.name,
            replace(p_reports, 'GOOD', format('"run_id": "%s", "claim_no": 1', r.id))
        )),
        ', '
    )
    from run as r
    cross join unnest(p_names) as n (name);
$fn$;

select is(
    concat_ws(', ', pg_temp.refusals('{}'), pg_temp.refusals('7'), pg_temp.refusals('null')),
    'PD400 p_reports, PD400 p_reports, PD400 p_reports',
    'a batch is an array'
);
select is(
    dispatch_test.error_of('select dispatch.complete_runs(dispatch_test.id(1), null)'),
    'PD400 p_reports',
    'and not NULL'
);
select is(
    dispatch_test.error_of('select dispatch.fail_runs(null, ''[]'')'),
    'PD400 p_workspace_id',
    'the workspace is required'
);
select is(pg_temp.refusals('[{GOOD}, []]'), 'PD400 p_reports[1]', 'an element is an object');
select is(
    pg_temp.refusals('[{GOOD}, {GOOD, "colour": 1}]'), 'PD400 p_reports[1].colour',
    'an unknown key is named'
);
select is(pg_temp.refusals('[{"claim_no": 1}]'), 'PD400 p_reports[0].run_id', 'no run');
select is(
    pg_temp.refusals('[{"run_id": "00000000-0000-7000-8000-000000000009"}]'),
    'PD400 p_reports[0].claim_no',
    'no claim number'
);
select is_empty(
    $$
    select b.value
    from unnest(array[
        '"x"', '7', 'null', '"00000000-0000-0000-0000-000000000000"'
    ]) as b (value)
    where pg_temp.refusals(format('[{"claim_no": 1, "run_id": %s}]', b.value))
        <> 'PD400 p_reports[0].run_id'
    $$,
    'a run is named by its uuid'
);
select is_empty(
    $$
    select b.value
    from unnest(array['"1"', '1.5', 'null', '4294967297']) as b (value)
    where pg_temp.refusals(
        format(
            '[{"run_id": "00000000-0000-7000-8000-000000000009", "claim_no": %s}]', b.value
        )
    ) <> 'PD400 p_reports[0].claim_no'
    $$,
    'a claim number is an integer'
);
select is_empty(
    $$
    select b.name, b.key, b.value
    from (
        values
        ('start_runs', 'lease', '45'), ('start_runs', 'lease', '"soon"'),
        ('start_runs', 'lease', '"25 hours"'), ('start_runs', 'lease', '"0 seconds"'),
        ('start_runs', 'lease', '"-5 seconds"'), ('complete_runs', 'session_id', '7'),
        ('complete_runs', 'session_lost', '"no"'), ('complete_runs', 'work_dir', '1'),
        ('fail_runs', 'error', '{}'), ('fail_runs', 'failure_reason', '[]'),
        ('fail_runs', 'failure_reason', '"' || repeat('r', 101) || '"'),
        ('complete_runs', 'result', '"' || repeat('r', 1048575) || '"'),
        ('start_runs', 'result', '1'), ('complete_runs', 'lease', '"1 s"'),
        ('fail_runs', 'result', '1')
    ) as b (name, key, value)
    where pg_temp.refusals(format('[{GOOD, "%s": %s}]', b.key, b.value), array[b.name])
        <> 'PD400 p_reports[0].' || b.key
    $$,
    'a value of a wrong kind or out of range, or a key of another report, is named'
);
select is(
    pg_temp.refusals('[' || repeat('{GOOD}, ', 1000) || '{GOOD}]'), 'PD400 p_reports',
    'R31: 1,001 elements are too many'
);
select is(
    (select r::text || d::text from dispatch.run as r cross join dispatch.run_detail as d),
    (select s.shot from shot as s),
    'a good element of a refused batch is not applied'
);

select * from finish();
rollback;

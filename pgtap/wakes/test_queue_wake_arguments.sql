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

create function pg_temp.refusal(p_arguments text)
returns text
language sql
as $fn$
    select dispatch_test.error_of('select dispatch.queue_wake(' || p_arguments || ')');
$fn$;
create function pg_temp.with_good(p_arguments text)
returns text
language sql
as $fn$
    select pg_temp.refusal(
        $$dispatch_test.id(1), dispatch_test.id(4), 'mention', $$ || p_arguments
    );
$fn$;

select results_eq(
    $$
    select
        pg_temp.refusal('null, dispatch_test.id(4), ''mention'''),
        pg_temp.refusal('dispatch_test.id(1), null, ''mention'''),
        pg_temp.refusal('dispatch_test.id(1), dispatch_test.id(4), null')
    $$,
    $$values ('PD400 p_workspace_id', 'PD400 p_agent_id', 'PD400 p_reason')$$,
    'workspace, agent and reason are required'
);
select is(
    pg_temp.refusal('dispatch_test.id(1), dispatch_test.id(4), ''  '''),
    'PD400 p_reason',
    'a blank reason is none'
);
select results_eq(
    $$
    select
        pg_temp.with_good('p_priority => null'),
        pg_temp.with_good('p_coalesce => null'),
        pg_temp.with_good('p_max_attempts => null'),
        pg_temp.with_good('p_actor_type => null')
    $$,
    $$
    values (
        'PD400 p_priority', 'PD400 p_coalesce', 'PD400 p_max_attempts', 'PD400 p_actor_type'
    )
    $$,
    'NULL is no priority, flag, number of attempts or actor'
);
select results_eq(
    $$
    select n.name, pg_temp.with_good(
        n.name || ' => ''00000000-0000-0000-0000-000000000000'''
    )
    from unnest(array[
        'p_issue_id', 'p_chat_session_id', 'p_originator_id', 'p_actor_id', 'p_acting_run_id'
    ]) as n (name)
    $$,
    $$
    select n.name, 'PD400 ' || n.name
    from unnest(array[
        'p_issue_id', 'p_chat_session_id', 'p_originator_id', 'p_actor_id', 'p_acting_run_id'
    ]) as n (name)
    $$,
    'B2: the all-zero uuid is refused in every optional argument'
);
select results_eq(
    $$
    select
        pg_temp.refusal(
            '''00000000-0000-0000-0000-000000000000'', dispatch_test.id(4), ''mention'''
        ),
        pg_temp.refusal(
            'dispatch_test.id(1), ''00000000-0000-0000-0000-000000000000'', ''mention'''
        )
    $$,
    $$values ('PD400 p_workspace_id', 'PD400 p_agent_id')$$,
    'B2: and in the required ones'
);
select is(pg_temp.with_good('p_actor_type => ''robot'''), 'PD400 p_actor_type', 'unknown word');
select is(
    pg_temp.with_good('p_max_attempts => 0'), 'PD400 p_max_attempts', 'no attempt at all'
);
select results_eq(
    $$
    select
        pg_temp.with_good('p_fire_at => ''infinity'''),
        pg_temp.with_good('p_fire_at => ''-infinity'''),
        pg_temp.with_good('p_fire_at => ''20000-01-01 00:00+00'''),
        pg_temp.with_good('p_fire_at => ''2031-01-16 12:00:00.000001+00''')
    $$,
    $$
    values ('PD400 p_fire_at', 'PD400 p_fire_at', 'PD400 p_fire_at', 'PD400 p_fire_at')
    $$,
    'R28: a time that is infinite or more than 366 days ahead is refused'
);
select is((select count(*) from dispatch.run), 0::bigint, 'nothing was written');
select is(
    pg_temp.with_good('p_fire_at => ''2031-01-16 12:00:00+00'''),
    '00000',
    'R28: 366 days ahead are allowed'
);
select results_eq(
    $$
    select c.detail, split_part(c.hint, ':', 1)
    from dispatch_test.catch(
        'select dispatch.queue_wake(null, dispatch_test.id(4), ''mention'')'
    ) as c
    $$,
    $$values ('', 'p_workspace_id')$$,
    'the hint begins with the argument and the detail is empty'
);

select * from finish();
rollback;

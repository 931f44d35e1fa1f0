begin;
select plan(8);

select dispatch_test.set_clock('2030-01-15 12:00:00+00');
select dispatch.put_workspace(dispatch_test.id(1), 'Works');
select dispatch.put_member(dispatch_test.id(1), dispatch_test.id(2), 'Ana');
select dispatch.put_runtime(dispatch_test.id(1), dispatch_test.id(3), 'daemon-1');
select dispatch.heartbeat(dispatch_test.id(1), array[dispatch_test.id(3)]);
select dispatch.put_agent(
    dispatch_test.id(1), dispatch_test.id(4), 'alpha', dispatch_test.id(2), dispatch_test.id(3)
);

create function pg_temp.column_of(p_key text, p_value jsonb)
returns text
language sql
as $fn$
    select dispatch_test.error_of(format(
        'select dispatch.queue_wakes(dispatch_test.id(1), %L)',
        jsonb_build_array(
            jsonb_build_object('agent_id', dispatch_test.id(4), 'reason', 'good'),
            jsonb_build_object('agent_id', dispatch_test.id(4), 'reason', 'r')
            || jsonb_build_object(p_key, p_value)
        )
    ));
$fn$;

create temp table bad (key text, value jsonb) on commit drop;
insert into bad (key, value)
values
('agent_id', '7'), ('agent_id', '"alpha"'), ('agent_id', '{}'),
('reason', '7'), ('reason', '[]'), ('reason', 'null'), ('reason', '" "'),
('idempotency_key', '7'), ('idempotency_key', '{}'),
('issue_id', '"ABC-1"'), ('issue_id', '7'), ('chat_session_id', 'true'),
('chat_session_id', '"00000000-0000-0000-0000-000000000000"'),
('priority', '"1"'), ('priority', '1.5'), ('priority', '2147483648'), ('priority', 'true'),
('fire_at', '7'), ('fire_at', '"soon"'), ('fire_at', '"infinity"'),
('fire_at', '"2030-02-30T00:00:00Z"'), ('fire_at', '"2031-01-17T00:00:00Z"'),
('originator_id', '"Ana"'), ('originator_id', '"00000000-0000-7000-8000-000000000099"'),
('actor_type', '7'), ('actor_type', '"robot"'), ('actor_id', '[]'),
('acting_run_id', '""'), ('coalesce', '"yes"'), ('coalesce', '1'),
('max_attempts', '"2"'), ('max_attempts', '0'), ('max_attempts', '-1');

select is_empty(
    $$
    select b.key, b.value, pg_temp.column_of(b.key, b.value)
    from bad as b
    where pg_temp.column_of(b.key, b.value) <> 'PD400 p_wakes[1].' || b.key
    $$,
    'a value of a wrong kind or out of range refuses the call, naming element and key'
);
select is(
    pg_temp.column_of('reason', to_jsonb(repeat('r', 101))), 'PD400 p_wakes[1].reason',
    'R31: 101 bytes of reason'
);
select is(
    pg_temp.column_of('idempotency_key', to_jsonb(repeat('k', 256))),
    'PD400 p_wakes[1].idempotency_key',
    'R31: 256 bytes of key'
);
select is(
    pg_temp.column_of('payload', to_jsonb(repeat('p', 1048575))), 'PD400 p_wakes[1].payload',
    'R31: 1 MiB and one byte of payload'
);
select is(
    pg_temp.column_of('issue_id', to_jsonb(dispatch_test.id(999))),
    'PD404 p_wakes[1].issue_id',
    'an unknown issue'
);
select is(
    dispatch_test.error_of(format(
        'select dispatch.queue_wakes(dispatch_test.id(1), %L)',
        jsonb_build_array(jsonb_build_object(
            'agent_id', dispatch_test.id(4), 'reason', 'r', 'actor_type', 'user',
            'actor_id', dispatch_test.id(99)
        ))
    )),
    'PD403 p_wakes[0].actor_id',
    'an actor who is no member'
);
select is(
    dispatch_test.error_of(format(
        'select dispatch.queue_wakes(dispatch_test.id(1), %L)',
        jsonb_build_array(jsonb_build_object(
            'agent_id', dispatch_test.id(4), 'reason', 'r', 'actor_type', 'agent',
            'actor_id', dispatch_test.id(4), 'acting_run_id', dispatch_test.id(99)
        ))
    )),
    'PD403 p_wakes[0].acting_run_id attribution_blocked',
    'an acting run that is not active'
);
select is((select count(*) from dispatch.run), 0::bigint, 'nothing was written');

select * from finish();
rollback;

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

create function pg_temp.refusal(
    p_reason text default 'mention',
    p_payload jsonb default '{}',
    p_key text default null
)
returns text
language sql
as $fn$
    select dispatch_test.error_of(format(
        'select dispatch.queue_wake(dispatch_test.id(1), dispatch_test.id(4), %L, %L, %L)',
        p_reason, p_payload, p_key
    ));
$fn$;

select is(pg_temp.refusal(repeat('r', 101)), 'PD400 p_reason', 'R31: 101 bytes of reason');
select is(
    pg_temp.refusal(repeat('é', 51)), 'PD400 p_reason', 'R31: text is measured in bytes'
);
select is(
    pg_temp.refusal(p_key => repeat('k', 256)), 'PD400 p_idempotency_key',
    'R31: 256 bytes of key'
);
select is(
    pg_temp.refusal(p_key => repeat('k', 1048576)), 'PD400 p_idempotency_key',
    'R31: a very long key is no index error'
);
select is(
    pg_temp.refusal(p_payload => to_jsonb(repeat('p', 1048576 - 1))),
    'PD400 p_payload',
    'R31: 1 MiB and one byte of payload'
);
select is((select count(*) from dispatch.run), 0::bigint, 'nothing was written');

select is(pg_temp.refusal(repeat('é', 50)), '00000', 'R31: 100 bytes of reason are allowed');
select is(
    pg_temp.refusal(p_key => repeat('k', 255)), '00000', 'R31: 255 bytes of key are allowed'
);
select is(
    pg_temp.refusal(p_payload => to_jsonb(repeat('p', 1048576 - 2))),
    '00000',
    'R31: 1 MiB of payload is allowed'
);
select is(
    (select max(octet_length(r.payload::text)) from dispatch.runs as r),
    1048576,
    'and stored whole'
);
select is(
    pg_temp.refusal(p_payload => jsonb_build_object('task_id', repeat('t', 100000))),
    '00000',
    'a long task_id breaks no index'
);

select * from finish();
rollback;

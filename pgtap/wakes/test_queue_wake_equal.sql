begin;
select plan(10);

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
from generate_series(1, 10) as n;

-- how many rows two wakes make that an existing run of the pair absorbs
create function pg_temp.rows_of(p_issue integer, p_first jsonb, p_second jsonb)
returns bigint
language plpgsql
as $fn$
declare
    v_base constant jsonb := jsonb_build_object(
        'agent_id', dispatch_test.id(4), 'issue_id', dispatch_test.id(100 + p_issue),
        'reason', 'mention', 'coalesce', false, 'payload', jsonb_build_object('n', 1)
    );
begin
    perform dispatch.queue_wakes(
        dispatch_test.id(1),
        jsonb_build_array(
            v_base || '{"payload": "first"}', v_base || p_first, v_base || p_second
        )
    );
    return (
        select count(*)
        from dispatch.run_trigger as t
        inner join dispatch.run as r on r.workspace_id = t.workspace_id and r.id = t.run_id
        where r.issue_id = dispatch_test.id(100 + p_issue) and t.outcome = 'absorbed'
    );
end;
$fn$;
select dispatch.put_member(dispatch_test.id(1), dispatch_test.id(9), 'Ben');

select is(pg_temp.rows_of(1, '{}', '{}'), 1::bigint, 'equal wakes are one row');
select is(
    pg_temp.rows_of(2, '{"priority": 1}', '{"priority": 2}'), 1::bigint,
    'the priority makes no other wake'
);
select is(
    pg_temp.rows_of(3, '{"payload": {"a": 1, "b": 2}}', '{"payload": {"b": 2, "a": 1}}'),
    1::bigint,
    'nor does the order of keys in a payload'
);
select is(pg_temp.rows_of(4, '{}', '{"reason": "comment"}'), 2::bigint, 'another reason does');
select is(pg_temp.rows_of(5, '{}', '{"payload": {"n": 2}}'), 2::bigint, 'another payload does');
select is(
    pg_temp.rows_of(6, '{"idempotency_key": "a"}', '{"idempotency_key": "b"}'), 2::bigint,
    'another key does'
);
select is(
    pg_temp.rows_of(7, '{}', '{"actor_type": "user"}'), 2::bigint, 'another kind of actor does'
);
select is(
    pg_temp.rows_of(
        8, jsonb_build_object('actor_type', 'agent', 'actor_id', dispatch_test.id(4)),
        jsonb_build_object('actor_type', 'agent', 'actor_id', dispatch_test.id(5))
    ),
    2::bigint,
    'another actor does'
);
select is(
    pg_temp.rows_of(
        9, jsonb_build_object('originator_id', dispatch_test.id(2)),
        jsonb_build_object('originator_id', dispatch_test.id(9))
    ),
    2::bigint,
    'another originator does'
);
select is(
    pg_temp.rows_of(10, '{"idempotency_key": "c"}', '{"idempotency_key": "c"}'), 1::bigint,
    'an equal key does not'
);

select * from finish();
rollback;

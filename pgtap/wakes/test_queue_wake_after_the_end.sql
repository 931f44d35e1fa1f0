begin;
select plan(5);

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

-- ends the only run of the pair in the given way and asks once more
create function pg_temp.again(p_ending text)
returns text
language plpgsql
as $fn$
declare
    v_run constant uuid := pg_temp.wake(1);
    v_answer dispatch.decision;
begin
    perform dispatch.claim_run(dispatch_test.id(1), dispatch_test.id(4));
    perform dispatch.start_run(dispatch_test.id(1), v_run, 1);
    case p_ending
        when 'completed' then
            perform dispatch.complete_run(dispatch_test.id(1), v_run, 1);
        when 'failed' then
            perform dispatch.fail_run(dispatch_test.id(1), v_run, 1, 'agent_error');
        when 'cancelled' then
            perform dispatch.cancel_run(dispatch_test.id(1), v_run, 'system');
        when 'retried' then
            perform dispatch.recover_runtime(dispatch_test.id(1), dispatch_test.id(3));
    end case;
    v_answer := dispatch.queue_wake(
        dispatch_test.id(1), dispatch_test.id(4), 'mention', p_coalesce => false,
        p_issue_id => dispatch_test.id(101)
    );
    perform dispatch.cancel_run(dispatch_test.id(1), v_answer.run_id, 'system');
    return v_answer.outcome || case when v_answer.run_id = v_run then ' same' else ' new' end;
end;
$fn$;

select is(pg_temp.again('completed'), 'queued new', 'R12: after a completion');
select is(pg_temp.again('failed'), 'queued new', 'R12: after a final failure');
select is(pg_temp.again('cancelled'), 'queued new', 'R12: after a cancellation');
select is(
    pg_temp.again('retried'), 'absorbed new',
    'R12: after a loss the retry stands and absorbs'
);
select is(
    (
        select count(*)
        from dispatch.run as r
        where r.status not in ('completed', 'failed', 'cancelled')
    ),
    0::bigint,
    'R12: nothing needs cleaning'
);

select * from finish();
rollback;

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
insert into dispatch.issue (
    workspace_id, id, number, title, status, priority, creator_type, created_at, updated_at
)
select
    dispatch_test.id(1), dispatch_test.id(100 + n), n, 'issue', 'todo', 'none', 'system',
    dispatch.clock(), dispatch.clock()
from generate_series(1, 1) as n;

-- p_kind is issue, chat, plain or autopilot; answers whether the failure was retried
create function pg_temp.retried(
    p_reason text,
    p_attempt integer default 1,
    p_max_attempts integer default 2,
    p_kind text default 'issue'
)
returns boolean
language plpgsql
as $fn$
declare
    v_run constant uuid := (dispatch.queue_wake(
        dispatch_test.id(1), dispatch_test.id(4), 'mention',
        p_issue_id => case when p_kind = 'issue' then dispatch_test.id(101) end,
        p_chat_session_id => case when p_kind = 'chat' then dispatch_test.id(50) end,
        p_max_attempts => p_max_attempts
    )).run_id;
    v_answer dispatch.transition;
begin
    update dispatch.run as r set attempt = p_attempt where r.id = v_run;
    update dispatch.run_detail as d
    set autopilot_run_id = dispatch_test.id(60)
    where d.run_id = v_run and p_kind = 'autopilot';
    perform dispatch.claim_run(dispatch_test.id(1), dispatch_test.id(4));
    v_answer := dispatch.fail_run(dispatch_test.id(1), v_run, 1, p_reason);
    perform dispatch.cancel_run(dispatch_test.id(1), r.id, 'system')
    from dispatch.run as r
    where r.status in ('queued', 'deferred');
    return v_answer.retry_run_id is not null;
end;
$fn$;
create temp table retryable (reason text) on commit drop;
insert into retryable (reason)
values
('runtime_offline'), ('runtime_recovery'), ('timeout'), ('codex_semantic_inactivity'),
('agent_error.provider_network'), ('skill_bundle_unavailable');

select is(
    (select bool_and(pg_temp.retried(y.reason)) from retryable as y), true,
    'R11: each of the six reasons is retried at attempt 1 of 2'
);
select is(
    (
        select bool_or(pg_temp.retried(y.reason, 2))
        from retryable as y
        where y.reason <> 'agent_error.provider_network'
    ),
    false, 'R11: none at attempt 2 of 2'
);
select is(
    pg_temp.retried('agent_error.provider_network', 2), true,
    'R11: but a fault of the network, which is worth a third attempt'
);
select is(
    (select bool_or(pg_temp.retried(y.reason, 1, 1)) from retryable as y), false,
    'R11: none when one attempt is allowed'
);
select is(pg_temp.retried('timeout', 2, 3), true, 'R15: attempts rise up to the maximum');
select is(
    (
        select string_agg(n.reason, ', ')
        from unnest(array[
            'queued_expired', 'agent_error.unknown', 'agent_error', 'runtime_reconnect_timeout',
            'runtime_cli_timeout', 'iteration_limit', 'agent_blocked', 'api_invalid_request',
            'agent_error.context_overflow', 'agent_error.process_failure', 'Timeout', 'timeout '
        ]) as n (reason)
        where pg_temp.retried(n.reason)
    ),
    null,
    'R11: no other reason is'
);
select is(pg_temp.retried(null), false, 'R11: nor is a failure without a reason');
select is(
    pg_temp.retried('timeout', p_kind => 'chat'), true, 'R11: a run of a chat is retried'
);
select is(
    pg_temp.retried('timeout', p_kind => 'plain'), false, 'R11: a quick-create run is not'
);
select is(
    pg_temp.retried('timeout', p_kind => 'autopilot'), false,
    'R11: nor is a run of an autopilot'
);

select * from finish();
rollback;

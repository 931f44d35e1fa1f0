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

-- fails a new run of a chat and answers with its retry
create function pg_temp.retry_of(p_reason text, p_priority integer, p_lost boolean)
returns dispatch.runs
language plpgsql
as $fn$
declare
    v_run constant uuid := (dispatch.queue_wake(
        dispatch_test.id(1), dispatch_test.id(4), 'chat', p_priority => p_priority,
        p_chat_session_id => dispatch_test.id(50)
    )).run_id;
    v_answer dispatch.transition;
    v_child dispatch.runs;
begin
    perform dispatch.claim_run(dispatch_test.id(1), dispatch_test.id(4));
    v_answer := dispatch.fail_run(
        dispatch_test.id(1), v_run, 1, p_reason, 'e', 's', '/w', p_lost
    );
    v_child := (select v from dispatch.runs as v where v.id = v_answer.retry_run_id);
    perform dispatch.cancel_run(dispatch_test.id(1), v_child.id, 'system');
    return v_child;
end;
$fn$;

select results_eq(
    $$
    select c.session_id, c.work_dir, c.force_fresh, c.chat_session_id, c.lane
    from pg_temp.retry_of('timeout', 2, false) as c
    $$,
    $$values ('s', '/w', false, dispatch_test.id(50), dispatch_test.id(50))$$,
    'R15: a retry of a chat resumes its session in its lane'
);
select results_eq(
    $$
    select c.session_id, c.work_dir, c.force_fresh
    from pg_temp.retry_of('codex_semantic_inactivity', 2, false) as c
    $$,
    $$values (null::text, null::text, true)$$,
    'R15: after the agent had gone silent it begins afresh'
);
select results_eq(
    $$
    select c.session_id, c.work_dir, c.force_fresh
    from pg_temp.retry_of('timeout', 2, true) as c
    $$,
    $$values (null::text, '/w', false)$$,
    'S4: a lost session is not resumed'
);
select is(
    (select c.priority from pg_temp.retry_of('timeout', 2, false) as c), 3,
    'R15: the priority of a retry of a chat is at least 3'
);
select is(
    (select c.priority from pg_temp.retry_of('timeout', 4, false) as c), 4,
    'R15: and not lowered'
);

select * from finish();
rollback;

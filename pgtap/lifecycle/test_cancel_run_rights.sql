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

select dispatch.put_member(dispatch_test.id(1), dispatch_test.id(21), 'Ben');
select dispatch.put_member(dispatch_test.id(1), dispatch_test.id(22), 'Cem', 'admin');
select dispatch.put_workspace(dispatch_test.id(7), 'Elsewhere');
select dispatch.put_member(dispatch_test.id(7), dispatch_test.id(23), 'Dan');

-- p_chat_of is the member who began a chat; without one it is a quick-create run
create function pg_temp.cancel(p_member integer, p_chat_of integer default null)
returns text
language plpgsql
as $fn$
declare
    v_wake constant dispatch.decision := dispatch.queue_wake(
        dispatch_test.id(1), dispatch_test.id(4), 'mention',
        p_chat_session_id => case when p_chat_of is not null then dispatch_test.id(50) end,
        p_actor_type => case when p_chat_of is not null then 'user' else 'system' end,
        p_actor_id => dispatch_test.id(p_chat_of)
    );
    v_error constant text := dispatch_test.error_of(format(
        'select dispatch.cancel_run(dispatch_test.id(1), %L, %L, %L)',
        v_wake.run_id, 'user', dispatch_test.id(p_member)
    ));
begin
    return v_error || ' '
        || (select v.status from dispatch.runs as v where v.id = v_wake.run_id);
end;
$fn$;

select is(pg_temp.cancel(2), '00000 cancelled', 'the owner of the agent may cancel');
select is(pg_temp.cancel(22), '00000 cancelled', 'so may who administers the workspace');
select is(
    pg_temp.cancel(21), 'PD403 p_actor_id queued',
    'who may not see the runs of a private agent may not, and the run goes on'
);
select is(
    pg_temp.cancel(23), 'PD403 p_actor_id queued', 'nor may a member of another workspace'
);
select is(
    pg_temp.cancel(null), 'PD403 p_actor_id queued', 'nor may an unnamed user'
);
select dispatch.put_agent(
    dispatch_test.id(1), dispatch_test.id(4), 'alpha', dispatch_test.id(2),
    p_permission => 'public_to'
);
select dispatch.grant_invoke(
    dispatch_test.id(1), dispatch_test.id(4), 'member', dispatch_test.id(21)
);
select is(
    pg_temp.cancel(21), '00000 cancelled', 'a member to whom the agent is open may cancel'
);
select is(
    pg_temp.cancel(21, 2), 'PD403 p_actor_id queued',
    'S10: a run of a chat is not cancelled by another member'
);
select is(
    pg_temp.cancel(22, 2), 'PD403 p_actor_id queued', 'S10: not even by an administrator'
);
select is(pg_temp.cancel(2, 2), '00000 cancelled', 'S10: its originator may cancel it');
select is(
    dispatch_test.error_of(format(
        'select dispatch.cancel_run(dispatch_test.id(1), %L, %L, %L)',
        (dispatch.queue_wake(dispatch_test.id(1), dispatch_test.id(4), 'mention')).run_id,
        'agent', dispatch_test.id(4)
    )),
    'PD403 p_actor_id', 'an agent cancels no run, not even its own'
);

select * from finish();
rollback;

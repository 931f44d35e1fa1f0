begin;
select plan(14);
create function pg_temp.id(p_number integer) returns uuid language sql as $fn$
select dispatch_test.id(p_number);
$fn$;
select dispatch_test.set_clock('2030-01-15 12:00:00+00');
select dispatch.put_workspace(pg_temp.id(1), 'Acme');
select dispatch.put_member(pg_temp.id(1), pg_temp.id(11), 'H');
select dispatch.put_member(pg_temp.id(1), pg_temp.id(12), 'O');
select dispatch.put_runtime(pg_temp.id(1), pg_temp.id(21), 'mac');
select dispatch.heartbeat(pg_temp.id(1), array[pg_temp.id(21)]);
select dispatch.put_agent(
    pg_temp.id(1), pg_temp.id(31), 'speaker', pg_temp.id(12), pg_temp.id(21)
);
select dispatch.put_agent(
    pg_temp.id(1), pg_temp.id(32), 'private', pg_temp.id(11), pg_temp.id(21)
);

-- The speaker runs once for H, once for nobody (accountable is its owner O).
select dispatch.queue_wake(
    pg_temp.id(1), pg_temp.id(31), 'for H', p_chat_session_id => pg_temp.id(41),
    p_originator_id => pg_temp.id(11)
);
select dispatch.queue_wake(
    pg_temp.id(1), pg_temp.id(31), 'for nobody',
    p_chat_session_id => pg_temp.id(42)
);
create function pg_temp.run(p_reason text) returns uuid language sql as $fn$
select r.id from dispatch.runs as r where r.reason = p_reason;
$fn$;
create function pg_temp.may(p_agent integer, p_run uuid, p_originator uuid default null)
returns boolean language sql as $fn$
select dispatch.can_invoke_agent(
    pg_temp.id(1), pg_temp.id(p_agent), 'agent', pg_temp.id(31), p_run, p_originator
);
$fn$;

select is(
    dispatch_test.error_of($$select pg_temp.may(32, pg_temp.run('for H'))$$),
    'PD403 p_acting_run_id attribution_blocked', 'a queued run gives no authority'
);
select dispatch.claim_runs(pg_temp.id(1), array[pg_temp.id(21)], 2, 2);
select is(pg_temp.may(32, pg_temp.run('for H')), true, 'a run for the owner does');
select is(
    pg_temp.may(32, pg_temp.run('for nobody')), false, 'a run for nobody does not'
);
select is(
    pg_temp.may(31, pg_temp.run('for nobody')), false,
    'the human who answers for a run gives no authority'
);
select is(
    pg_temp.may(32, pg_temp.run('for H'), pg_temp.id(12)), true,
    'the run decides, not the originator that is told'
);
select dispatch.complete_run(pg_temp.id(1), r.id, r.claim_no)
from (select r.id, r.claim_no from dispatch.runs as r where r.reason = 'for H') as r
where (dispatch.start_run(pg_temp.id(1), r.id, r.claim_no)).applied;
select is(
    dispatch_test.error_of($$select pg_temp.may(32, pg_temp.run('for H'))$$),
    'PD403 p_acting_run_id attribution_blocked', 'an ended run gives none any more'
);

select is(
    dispatch_test.error_of(format('select dispatch.can_invoke_agent(%s)', t.arguments)),
    t.error, t.what
)
from (
    values
        ($$null, pg_temp.id(32), 'system'$$, 'PD400 p_workspace_id', 'no workspace'),
        ($$pg_temp.id(1), null, 'system'$$, 'PD400 p_agent_id', 'no agent'),
        ($$pg_temp.id(1), pg_temp.id(32), null$$, 'PD400 p_actor_type', 'no kind of actor'),
        ($$pg_temp.id(1), pg_temp.id(32), 'robot'$$, 'PD400 p_actor_type', 'an unknown kind'),
        (
            $$pg_temp.id(1), pg_temp.id(32), 'agent'$$, 'PD400 p_actor_id',
            'an agent without an id'
        ),
        (
            $$pg_temp.id(1), pg_temp.id(32), 'user', '00000000-0000-0000-0000-000000000000'$$,
            'PD400 p_actor_id', 'the all-zero actor'
        ),
        (
            $$pg_temp.id(1), pg_temp.id(32), 'agent', pg_temp.id(31), pg_temp.id(99)$$,
            'PD403 p_acting_run_id attribution_blocked', 'an unknown run'
        ),
        (
            $$
                pg_temp.id(1), pg_temp.id(32), 'agent', pg_temp.id(32),
                pg_temp.run('for nobody')
            $$,
            'PD403 p_acting_run_id attribution_blocked', 'another agent''s run'
        )
) as t (arguments, error, what);

select * from finish();
rollback;

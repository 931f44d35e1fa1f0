begin;
select plan(15);
select dispatch_test.set_clock('2030-01-15 12:00:00+00');

select board.make();

-- Writes a comment on issue 51 and tells what became of each target.
create function pg_temp.say(
    p_body text,
    p_mentions text default '',
    p_parent text default null,
    p_actor_type text default 'user',
    p_actor integer default 11,
    p_acting_run uuid default null,
    p_issue integer default 51
)
returns text
language sql
as $say$
select string_agg(
    concat_ws(
        ' ', a.target_type, right(a.target_id::text, 2), a.outcome, a.reason_code,
        right(a.agent_id::text, 2)
    ),
    '; '
)
from dispatch.add_comment(
    dispatch_test.id(1), dispatch_test.id(p_issue), p_body, p_actor_type,
    dispatch_test.id(p_actor), p_acting_run, board.mentions(p_mentions),
    board.comment(p_parent)
) as a;
$say$;

select dispatch.create_issue(
    dispatch_test.id(1), 'Issue', 'user', dispatch_test.id(11),
    p_assignee_type => null, p_assignee_id => dispatch_test.id(null),
    p_issue_id => dispatch_test.id(51), p_suppress_run => true
);

select dispatch.put_workspace(dispatch_test.id(2), 'Elsewhere', 'XYZ');
select dispatch.put_member(dispatch_test.id(2), dispatch_test.id(11), 'Owner');
select dispatch.put_agent(
    dispatch_test.id(2), dispatch_test.id(38), 'Foreign', dispatch_test.id(11)
);
select is(
    pg_temp.say('One of mine.', 'agent 33'), 'agent 33 queued queued 33',
    'R18: its owner may mention a private agent'
);
select board.clear();
select is(
    pg_temp.say('One of yours.', 'agent 33', null, 'user', 12),
    'agent 33 blocked invocation_not_allowed', 'R18: nobody else may'
);
select is(
    pg_temp.say('Elsewhere.', 'agent 38'), 'agent 38 blocked invocation_not_allowed',
    'E15: an agent of another workspace'
);
select is(
    pg_temp.say('Nowhere.', 'agent 39'), 'agent 39 blocked invocation_not_allowed',
    'A7: one that does not exist, alike'
);
select dispatch.create_issue(
    dispatch_test.id(1), 'In the vault', 'user', dispatch_test.id(11),
    p_assignee_type => 'agent', p_assignee_id => dispatch_test.id(33),
    p_issue_id => dispatch_test.id(52), p_suppress_run => true
);
select is(
    pg_temp.say('Plainly.', '', null, 'user', 12, null, 52),
    'agent 33 blocked invocation_not_allowed',
    'R18: nor wake it by a plain comment on an issue that it has'
);
select is(
    pg_temp.say('Plainly, mine.', '', null, 'user', 11, null, 52), 'agent 33 queued queued 33',
    'R18: as its owner may'
);
select board.clear();
select dispatch.archive_agent(dispatch_test.id(1), dispatch_test.id(34));
select is(
    pg_temp.say('Retired, not mine.', 'agent 34', null, 'user', 12),
    'agent 34 blocked invocation_not_allowed',
    'E15: an archived private one of somebody else, alike: the gate comes before state'
);
select is(
    pg_temp.say('Retired, mine.', 'agent 34'), 'agent 34 blocked target_unavailable 34',
    'its owner learns that it is archived'
);
select results_eq(
    $$select a.target_type, a.target_id, a.outcome::text, a.reason_code::text
    from dispatch.add_comment(
        dispatch_test.id(1), dispatch_test.id(51), 'Malformed.', 'user', dispatch_test.id(11),
        p_mentions => '[{"type": "agent", "id": "31"}, {"type": "squad", "id": ""},
            {"type": "agent", "id": "00000000-0000-0000-0000-000000000000"}]'
    ) as a$$,
    $$values
        ('agent', null::uuid, 'blocked', 'target_unavailable'),
        ('squad', null, 'blocked', 'target_unavailable'),
        (
            'agent', '00000000-0000-0000-0000-000000000000'::uuid, 'blocked',
            'invocation_not_allowed'
        )$$,
    'E15: an id that is no uuid is unavailable, the all-zero one unknown'
);
select dispatch.bind_agent(dispatch_test.id(1), dispatch_test.id(31), null);
select is(
    pg_temp.say('No runtime.', 'agent 31'), 'agent 31 blocked agent_runtime_required 31',
    'an agent without a runtime'
);
select dispatch.set_runtime_offline(dispatch_test.id(1), dispatch_test.id(21));
select is(
    pg_temp.say('Asleep.', 'agent 32'), 'agent 32 queued queued 32',
    'A8: an agent on an offline runtime is queued'
);
select board.clear();
select dispatch.set_runtime_offline(
    dispatch_test.id(1), dispatch_test.id(21), 'not_executable'
);
select is(
    pg_temp.say('Broken.', 'agent 32'), 'agent 32 blocked runtime_unusable 32',
    'A8: on one that cannot execute it is not'
);
select dispatch.heartbeat(dispatch_test.id(1), array[dispatch_test.id(21)]);
select dispatch.pause_workspace(dispatch_test.id(1), 'system', p_reason => 'Stop');
select is(
    pg_temp.say('Paused.', 'agent 32, agent 39'),
    'agent 32 blocked paused 32; agent 39 blocked invocation_not_allowed',
    'a pause refuses the wake, each target for itself'
);
select is(
    (select count(*) from dispatch.comment), 13::bigint, 'every comment stands all the same'
);
select results_eq(
    $$select e.reason, count(*) from dispatch.gate_event as e group by e.reason
    order by e.reason$$,
    $$values ('agent_runtime_required', 1::bigint), ('invocation_not_allowed', 7),
        ('paused', 1), ('runtime_unusable', 1), ('target_unavailable', 3)$$,
    'every refusal is recorded'
);
select * from finish();
rollback;

begin;
select plan(14);
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
    p_assignee_type => 'agent', p_assignee_id => dispatch_test.id(31),
    p_issue_id => dispatch_test.id(51), p_suppress_run => true
);

-- Comments of an agent, a private agent and the system, none of which wakes anybody.
select pg_temp.say('Agent root.', '', null, 'agent', 32);
select pg_temp.say('Private root.', '', null, 'agent', 33);
select pg_temp.say('System root.', '', null, 'system', null);
select pg_temp.say('Quiet root.', 'member 12');
select is(board.queued(), 'none', 'nobody is woken yet');
select is(
    pg_temp.say('To you.', '', 'Agent root.'), 'agent 32 queued queued 32',
    'a reply to an agent wakes that agent, not the assignee'
);
select board.clear();
select is(
    pg_temp.say('To yours.', '', 'Private root.', 'user', 12), 'none not_triggered',
    'E11: a reply to a private agent by who may not invoke it wakes nobody'
);
select is(
    pg_temp.say('To mine.', '', 'Private root.'), 'agent 33 queued queued 33',
    'by its owner it does'
);
select board.clear();
select is(
    pg_temp.say('And me.', '', 'Agent root.', 'agent', 31), 'none not_triggered',
    'E13: an agent''s reply to an agent wakes nobody'
);
select is(
    pg_temp.say('Agreed.', '', 'Quiet root.', 'user', 12), 'none not_triggered',
    'E11: a reply to a member whose thread belongs to nobody wakes nobody'
);
select is(
    pg_temp.say('Thanks.', '', 'System root.'), 'agent 31 queued queued 31',
    'a reply to the system falls through to the assignee'
);
select board.clear();
select is(
    pg_temp.say('Named root.', 'member 12, agent 32, agent 31'),
    'agent 32 queued queued 32; agent 31 queued queued 31', 'a root that names two'
);
select board.clear();
select is(
    pg_temp.say('Go on.', '', 'Named root.', 'user', 12), 'agent 32 queued queued 32',
    'a reply in its thread goes to the first that it names'
);
select board.clear();
select is(
    pg_temp.say('And on.', '', 'Go on.'), 'agent 32 queued queued 32',
    'also from further down'
);
select board.clear();
select pg_temp.say('Plain root.');
select board.clear();
select dispatch.update_issue(
    dispatch_test.id(1), dispatch_test.id(51), jsonb_build_object(
        'assignee', jsonb_build_object('type', 'agent', 'id', dispatch_test.id(32))
    ), 'system', p_suppress_run => true
);
select is(
    pg_temp.say('More.', '', 'Plain root.'), 'agent 31 queued queued 31',
    'a root that names nobody: whom it has woken, though the issue is another''s since'
);
select dispatch.archive_agent(dispatch_test.id(1), dispatch_test.id(31));
select is(
    pg_temp.say('Still there?', '', 'Plain root.'), 'none not_triggered',
    'an archived owner of a thread is nobody'
);
select dispatch.bind_agent(dispatch_test.id(1), dispatch_test.id(32), null);
select is(
    pg_temp.say('And you?', '', 'Agent root.'), 'none not_triggered',
    'so is an agent without a runtime that is replied to'
);
select is(
    (select count(*) from dispatch.gate_event), 0::bigint,
    'and whom nobody named is refused nowhere'
);
select * from finish();
rollback;

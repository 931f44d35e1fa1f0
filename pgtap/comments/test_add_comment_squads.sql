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

-- Squad 41 is led by 31, squad 42 by the private 33.
select dispatch.put_squad(
    dispatch_test.id(1), dispatch_test.id(s), 'Squad', dispatch_test.id(l)
)
from (values (41, 31), (42, 33)) as s (s, l);

select dispatch.create_issue(
    dispatch_test.id(1), 'Issue', 'user', dispatch_test.id(11),
    p_assignee_type => 'squad', p_assignee_id => dispatch_test.id(41),
    p_issue_id => dispatch_test.id(51), p_suppress_run => true
);

create function pg_temp.work()
returns text
language sql
as $work$
select string_agg(
    concat_ws(
        ' ', right(r.agent_id::text, 2), right(r.squad_id::text, 2), r.is_leader_run, r.reason,
        r.source
    ),
    '; ' order by r.agent_id
)
from dispatch.runs as r
where r.status = 'queued';
$work$;

select is(
    pg_temp.say('Please look.'), 'squad 41 queued queued 31',
    'a comment on a squad''s issue wakes its leader'
);
select is(pg_temp.work(), '31 41 t task_comment comment', 'as the leader');
select board.clear();
select is(
    pg_temp.say('Done here.', '', null, 'agent', 32), 'squad 41 queued queued 31',
    'so does another agent''s: only the assigned squad''s leader is woken by an agent''s words'
);
select board.clear();
select is(
    pg_temp.say('A notice.', '', null, 'system', null), 'squad 41 queued queued 31',
    'and the system''s'
);
select board.clear();
select is(
    pg_temp.say('Both.', 'agent 31, squad 41'),
    'agent 31 queued queued 31; squad 41 queued queued 31',
    'E14: an agent and the squad that it leads are two answers'
);
select is(pg_temp.work(), '31 41 t task_mentioned mention', 'E14: and one run, the leader''s');
select board.clear();
select is(
    pg_temp.say('Led in private.', 'squad 42', null, 'user', 12),
    'squad 42 blocked invocation_not_allowed',
    'R18: a squad is as private as its leader'
);
select is(
    pg_temp.say('Led by mine.', 'squad 42'), 'squad 42 queued queued 33',
    'R18: its owner may mention it'
);
select board.clear();
select is(
    pg_temp.say('No such squad.', 'squad 49'), 'squad 49 blocked invocation_not_allowed',
    'a squad that does not exist is as one that is not open'
);
select dispatch.set_runtime_offline(dispatch_test.id(1), dispatch_test.id(21));
select is(
    pg_temp.say('Asleep.', 'squad 41, agent 31'),
    'squad 41 blocked runtime_offline 31; agent 31 queued queued 31',
    'A8: a squad needs its leader online, the leader mentioned for itself waits'
);
select is(pg_temp.work(), '31 f task_mentioned mention', 'which is then no leader''s run');
select board.clear();
select is(
    pg_temp.say('Anybody?'), 'squad 41 blocked runtime_offline 31',
    'A8: the assigned squad needs it as well'
);
select dispatch.heartbeat(dispatch_test.id(1), array[dispatch_test.id(21)]);
select dispatch.bind_agent(dispatch_test.id(1), dispatch_test.id(31), null);
select is(
    pg_temp.say('Unbound.'), 'squad 41 blocked agent_runtime_required 31',
    'R18: a squad without a usable leader has its own code'
);
select dispatch.archive_squad(dispatch_test.id(1), dispatch_test.id(42));
select is(
    pg_temp.say('Retired.', 'squad 42', null, 'user', 12) || ', '
    || pg_temp.say('Retired too.', 'squad 42'),
    'squad 42 blocked invocation_not_allowed, squad 42 blocked target_unavailable 33',
    'an archived squad is unavailable to whom its leader is open, and alike to all others'
);
select dispatch.archive_agent(dispatch_test.id(1), dispatch_test.id(31));
select is(
    pg_temp.say('Leaderless.'), 'squad 41 blocked target_unavailable 31',
    'so is a squad whose leader is archived'
);
select * from finish();
rollback;

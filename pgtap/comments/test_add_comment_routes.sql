begin;
select plan(17);
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

select is(
    pg_temp.say('Please look.'), 'agent 31 queued queued 31',
    'E11: a member''s plain comment wakes the assignee'
);
select is(
    (
        select concat_ws(
            ' ', r.reason, r.source, r.lane = r.issue_id, r.priority, r.evidence_kind,
            r.idempotency_key = format('task_comment:%s:%s', c.id, r.agent_id),
            r.payload = jsonb_build_object('task_id', r.issue_id, 'comment_id', c.id),
            r.is_leader_run, r.squad_id, r.max_attempts
        )
        from dispatch.runs as r
        inner join dispatch.comment as c on c.id = r.comment_id
    ),
    'task_comment comment t 0 comment t t f 2',
    'whose run names the comment in its key, its evidence and its payload'
);
select board.clear();
select is(
    pg_temp.say('/note hello', 'agent 32'), 'none not_triggered', 'E10: a note wakes nobody'
);
select is(
    pg_temp.say(E' \n/NOTE\tfor later', 'agent 32'), 'none not_triggered',
    'E10: in either case, and after white space'
);
select is(
    pg_temp.say('hello /note', 'agent 32'), 'agent 32 queued queued 32',
    'E10: not its first word: the mention wakes'
);
select board.clear();
select is(
    pg_temp.say('/notes on this'), 'agent 31 queued queued 31', 'E10: nor is a longer word one'
);
select board.clear();
select is(pg_temp.say('To all.', 'all'), 'none not_triggered', 'E11: all alone wakes nobody');
select is(
    pg_temp.say('To all and one.', 'all, agent 32'), 'agent 32 queued queued 32',
    'E11: all with an agent wakes only that one'
);
select board.clear();
select is(
    pg_temp.say('To a colleague.', 'member 12'), 'none not_triggered',
    'E11: a member alone wakes nobody'
);
select dispatch.update_issue(
    dispatch_test.id(1), dispatch_test.id(51), '{"priority": "high"}', 'system'
);
select is(
    pg_temp.say('Both.', 'agent 32, agent 31, agent 32, member 12'),
    'agent 32 queued queued 32; agent 31 queued queued 31',
    'each agent once, in the order given'
);
select set_eq(
    $$select r.reason, r.source, r.idempotency_key, r.priority
    from dispatch.runs as r where r.status = 'queued'$$,
    $$select
        'task_mentioned' as reason, 'mention' as source, format(
            'task_mentioned:%s:%s', board.comment('Both.'), dispatch_test.id(a)
        ) as idempotency_key, 3 as priority
    from generate_series(31, 32) as a$$,
    'E1: with a key each, and the issue''s priority'
);
select board.clear();
select is(
    pg_temp.say('I am done.', '', null, 'agent', 31), 'none not_triggered',
    'E13: an agent''s plain comment wakes nobody, its own author either'
);
select is(
    pg_temp.say('A notice.', '', null, 'system', null), 'none not_triggered',
    'nor does the system''s'
);
select is(
    pg_temp.say('Your turn.', 'agent 32', null, 'agent', 31), 'agent 32 queued queued 32',
    'an agent''s mention wakes'
);
select board.clear();
select dispatch.update_issue(
    dispatch_test.id(1), dispatch_test.id(51), '{"status": "backlog"}', 'system'
);
select is(
    pg_temp.say('Parked.'), 'agent 31 queued queued 31', 'a comment starts a run in any status'
);
select board.clear();
select dispatch.update_issue(
    dispatch_test.id(1), dispatch_test.id(51), '{"assignee": null}', 'system'
);
select is(pg_temp.say('Whose is it?'), 'none not_triggered', 'without an assignee nobody');
select dispatch.update_issue(
    dispatch_test.id(1), dispatch_test.id(51), jsonb_build_object(
        'assignee', jsonb_build_object('type', 'member', 'id', dispatch_test.id(12))
    ), 'system'
);
select is(pg_temp.say('Yours.'), 'none not_triggered', 'nor with a member');
select * from finish();
rollback;

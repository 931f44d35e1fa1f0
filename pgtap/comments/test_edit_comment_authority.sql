begin;
select plan(10);
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

-- Edits a comment and tells what became of each target, with the comment of each answer.
create function pg_temp.edit(
    p_old text,
    p_body text,
    p_mentions text default '',
    p_actor_type text default 'user',
    p_actor integer default 11,
    p_acting_run uuid default null
)
returns text
language sql
as $edit$
select string_agg(
    concat_ws(
        ' ', left(c.body, 2), a.target_type, right(a.target_id::text, 2), a.outcome,
        a.reason_code
    ),
    '; ' order by a.place
)
from dispatch.edit_comment(
    dispatch_test.id(1), board.comment(p_old), p_body, p_actor_type,
    dispatch_test.id(p_actor), p_acting_run, board.mentions(p_mentions)
) with ordinality as a (
    comment_id, target_type, target_id, outcome, reason_code, run_id, agent_id, place
)
left join dispatch.comment as c on c.id = a.comment_id;
$edit$;

select dispatch.create_issue(
    dispatch_test.id(1), 'Issue', 'user', dispatch_test.id(11),
    p_assignee_type => null, p_assignee_id => dispatch_test.id(null),
    p_issue_id => dispatch_test.id(51), p_suppress_run => true
);

select pg_temp.say('c1', 'member 12');
select is(
    pg_temp.edit('c1', 'c1, wider', 'agent 33', 'user', 12),
    'c1 agent 33 blocked invocation_not_allowed',
    'who edits another''s comment wakes nobody on the author''s authority'
);
select is(
    pg_temp.edit('c1, wider', 'c1, widest', 'agent 31', 'user', 12),
    'c1 agent 31 queued queued',
    'but may on their own'
);
select is(
    (select right(r.originator_id::text, 2) from dispatch.runs as r), '12',
    'which the run acts on'
);
select is(
    (select right(c.author_id::text, 2) from dispatch.comment as c), '11',
    'the author stays'
);
select dispatch.claim_runs(
    dispatch_test.id(1), array[dispatch_test.id(21)], p_start => true
);
select pg_temp.say('d1', '', null, 'agent', 31, r.id) from dispatch.run as r;
select is(
    pg_temp.edit('d1', 'd1, shorter'), 'd1 none not_triggered',
    'an agent''s words wake no assignee, whoever edits them'
);
select is(
    (select c.source_run_id from dispatch.comment as c where c.body = 'd1, shorter'), null,
    'an edit by another clears the run that the comment came from'
);
select is(
    pg_temp.edit('d1, shorter', 'd1, longer', '', 'agent', 31, r.id), 'd1 none not_triggered',
    'the agent itself edits'
)
from dispatch.run as r;
select is(
    (select c.source_run_id from dispatch.comment as c where c.body = 'd1, longer'), r.id,
    'and renews it'
)
from dispatch.run as r;
select dispatch.queue_wake(
    dispatch_test.id(1), dispatch_test.id(32), 'work', p_issue_id => dispatch_test.id(51)
);
select is(
    pg_temp.edit('d1, longer', 'd1, again', '', 'agent', 32, c.run_id),
    'd1 none not_triggered', 'another agent edits, from a run of its own'
)
from dispatch.claim_run(dispatch_test.id(1), dispatch_test.id(32)) as c;
select is(
    (select c.source_run_id from dispatch.comment as c where c.body = 'd1, again'), null,
    'and clears it'
);
select * from finish();
rollback;

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
    p_assignee_type => 'agent', p_assignee_id => dispatch_test.id(31),
    p_issue_id => dispatch_test.id(51), p_suppress_run => true
);

select pg_temp.say('c1');
select is(
    pg_temp.edit('c1', 'c1'), 'c1 none not_triggered', 'an edit that changes nothing'
);
select is(board.runs(), '31 queued c1', 'leaves the run alone');
select is(
    pg_temp.edit('c1', 'c1 now for another', 'agent 32'), 'c1 agent 32 queued queued',
    'an edit wakes whom the comment asks for now'
);
select is(
    board.runs(), '31 cancelled comment edited c1; 32 queued c1',
    'and takes back what it has started'
);
select is(
    (select r.idempotency_key from dispatch.runs as r where r.status = 'queued'), null,
    'the wake of an edit has no key'
);
select is(
    pg_temp.edit('c1 now for another', 'c1 now for another', 'agent 31, agent 32'),
    'c1 agent 31 queued queued; c1 agent 32 queued queued', 'other mentions are an edit as well'
);
select is(
    pg_temp.edit('c1 now for another', '/note c1'), 'c1 none not_triggered',
    'a comment that becomes a note takes its runs back'
);
select is(board.runs(true), null, 'all of them');
delete from dispatch.run;

select pg_temp.say('d1', 'agent 31, agent 32');
select pg_temp.say('d2', 'agent 31', null, 'user', 12);
select pg_temp.say('d3', 'agent 31');
select dispatch_test.advance_clock('1 s');
select is(
    pg_temp.edit('d2', 'd2, better', 'agent 31', 'user', 12),
    'd1 agent 31 queued queued; d3 agent 31 queued queued; d2 agent 31 coalesced coalesced',
    'the other comments are queued again in their order, then the edited one'
);
select is(
    board.runs(true), '32 queued d1; 31 queued d1+d3+d2',
    'for the agent that the edited one had woken alone'
);
select is(
    (
        select concat_ws(' ', right(r.originator_id::text, 2), c.body)
        from dispatch.runs as r
        inner join dispatch.comment as c on c.id = r.comment_id
        where r.agent_id = dispatch_test.id(31) and r.status = 'queued'
    ),
    '12 d2, better', 'which the run acts for'
);
delete from dispatch.run;

-- What came too late for a run and was handed on belongs to the follow-up alone.
select pg_temp.say('e1', 'agent 31');
select dispatch.claim_run(dispatch_test.id(1), dispatch_test.id(31));
select dispatch_test.advance_clock('1 s');
select pg_temp.say('e2', 'agent 31');
select dispatch.start_run(dispatch_test.id(1), r.id, 1) from dispatch.run as r;
select is(
    pg_temp.edit('e2', 'e2, better', 'agent 31'), 'e2 agent 31 queued queued',
    'an edit of a comment that waits in a follow-up'
);
select is(
    board.runs(true), '31 running e1+e2; 31 queued e2',
    'leaves the run alone that never had it'
);
select is(
    pg_temp.edit('e1', 'e1, better', 'agent 31'), 'e1 agent 31 coalesced coalesced',
    'an edit of what the running run has'
);
select is(
    board.runs(true), '31 queued e2+e1',
    'ends that run and does not queue again what the follow-up has'
);
select * from finish();
rollback;

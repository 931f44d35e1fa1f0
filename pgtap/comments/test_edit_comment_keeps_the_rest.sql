begin;
select plan(8);
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

-- A run works on two comments while a third one waits in a run that has no records yet.
select pg_temp.say('c1', 'agent 31');
select pg_temp.say('c2', 'agent 31');
select dispatch.claim_runs(
    dispatch_test.id(1), array[dispatch_test.id(21)], p_start => true
);
select dispatch_test.advance_clock('1 s');
select pg_temp.say('c3', 'agent 31');
select is(
    pg_temp.edit('c1', 'c1, better', 'agent 31'),
    'c2 agent 31 absorbed already_active; c1 agent 31 coalesced coalesced',
    'what is kept joins the run that waits'
);
select is(
    board.runs(true), '31 queued c3+c2+c1', 'which stands for its own comment as well'
);
select is(
    (
        select jsonb_agg(t -> 'comment_id')
        from dispatch.claim_runs(dispatch_test.id(1), array[dispatch_test.id(21)]) as c
        cross join jsonb_array_elements(c.triggers) as t
    ),
    jsonb_build_array(
        board.comment('c3'), board.comment('c2'), board.comment('c1, better')
    ),
    'and is delivered with all of them'
);
delete from dispatch.run;

-- A rerun stands for what the run stands for that it was asked for, which goes on.
select pg_temp.say('d1', 'agent 31');
select pg_temp.say('d2', 'agent 31');
select dispatch.claim_runs(
    dispatch_test.id(1), array[dispatch_test.id(21)], p_start => true
);
select dispatch.rerun(dispatch_test.id(1), r.id, 'user', dispatch_test.id(11))
from dispatch.run as r;
select is(
    board.runs(true), '31 running d1+d2; 31 queued d1+d2', 'two runs for two comments'
);
select dispatch_test.advance_clock('1 s');
select is(
    pg_temp.edit('d1', 'd1, better', 'agent 31'),
    'd2 agent 31 queued queued; d1 agent 31 coalesced coalesced', 'an edit ends both'
);
select is(board.runs(true), '31 queued d2+d1', 'and keeps what both had once');
delete from dispatch.run;

-- An assignment that took two comments.
select dispatch.update_issue(
    dispatch_test.id(1), dispatch_test.id(51), jsonb_build_object(
        'assignee', jsonb_build_object('type', 'agent', 'id', dispatch_test.id(31))
    ), 'user', dispatch_test.id(11)
);
select pg_temp.say('e1');
select pg_temp.say('e2', '', null, 'user', 12);
select pg_temp.edit('e1', '/note e1');
select is(
    (
        select concat_ws(
            ' ', r.reason, r.source, r.actor_type, right(r.actor_id::text, 2),
            right(r.originator_id::text, 2), r.payload ->> 'actor_type',
            (r.payload ->> 'comment_id')::uuid = r.comment_id, c.body, r.evidence_kind
        )
        from dispatch.runs as r
        inner join dispatch.comment as c on c.id = r.comment_id
        where r.status = 'queued'
    ),
    'task_assigned assign user 11 12 user t e2 comment',
    'stays an assignment, and acts for the comment that is left'
);
select is(board.runs(true), '31 queued task_assigned+e2', 'of which it has both');
select * from finish();
rollback;

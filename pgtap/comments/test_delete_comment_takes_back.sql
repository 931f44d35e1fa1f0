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

-- Deletes a comment and tells what became of the others, with the comment of each answer.
create function pg_temp.remove(p_body text)
returns text
language sql
as $remove$
select string_agg(
    concat_ws(
        ' ', left(c.body, 2), a.target_type, right(a.target_id::text, 2), a.outcome,
        a.reason_code
    ),
    '; ' order by a.place
)
from dispatch.delete_comment(
    dispatch_test.id(1), board.comment(p_body), 'user', dispatch_test.id(11)
) with ordinality as a (
    comment_id, target_type, target_id, outcome, reason_code, run_id, agent_id, place
)
left join dispatch.comment as c on c.id = a.comment_id;
$remove$;

select dispatch.create_issue(
    dispatch_test.id(1), 'Issue', 'user', dispatch_test.id(11),
    p_assignee_type => null, p_assignee_id => dispatch_test.id(null),
    p_issue_id => dispatch_test.id(51), p_suppress_run => true
);

select pg_temp.say('c1', 'agent 31');
select is(
    pg_temp.remove('c1'), 'c1 none not_triggered',
    'E19: the only comment is deleted: nothing new'
);
select is(board.runs(), '31 cancelled comment deleted', 'E19: and its run is cancelled');
select is((select count(*) from dispatch.comment), 0::bigint, 'the comment is gone');
delete from dispatch.run;

select pg_temp.say('c1', 'agent 31');
select pg_temp.say('c2', 'agent 31', null, 'user', 12);
select is(
    pg_temp.remove('c1'), 'c2 agent 31 queued queued',
    'E19: a run that has another comment: that one is queued again'
);
select is(
    board.runs(), '31 cancelled comment deleted task_mentioned+c2; 31 queued c2',
    'E19: in a run of its own'
);
select is(
    (
        select concat_ws(
            ' ', r.reason, r.source, right(r.originator_id::text, 2), r.attribution_source,
            c.body, r.payload ->> 'comment_id' = c.id::text, r.idempotency_key, r.attempt
        )
        from dispatch.runs as r
        inner join dispatch.comment as c on c.id = r.comment_id
        where r.status = 'queued'
    ),
    'task_mentioned mention 12 direct_human c2 t 1',
    'which is asked for as that comment was, on its author''s authority'
);
select is(
    (
        select string_agg(concat_ws(' ', t.outcome, t.inherited, t.delivered_count), ';')
        from dispatch.run_trigger as t
        inner join dispatch.run as r on r.id = t.run_id and r.status = 'queued'
    ),
    'coalesced t 0', 'and is not counted again'
);
delete from dispatch.run;

-- The last comment goes, from a run that was delivered and works on both.
select pg_temp.say('d1', 'agent 31');
select pg_temp.say('d2', 'agent 31');
select dispatch.claim_runs(
    dispatch_test.id(1), array[dispatch_test.id(21)], p_start => true
);
select is(
    pg_temp.remove('d2'), 'd1 agent 31 queued queued',
    'a running run is cancelled as well, and what it had is queued again'
);
select is(
    board.runs(), '31 cancelled comment deleted d1+task_mentioned; 31 queued d1', 'once'
);
delete from dispatch.run;

-- A wake that is no comment's: an assignment keeps its note and its squad.
select dispatch.put_squad(
    dispatch_test.id(1), dispatch_test.id(41), 'Squad', dispatch_test.id(31)
);
select dispatch.update_issue(
    dispatch_test.id(1), dispatch_test.id(51), jsonb_build_object(
        'assignee', jsonb_build_object('type', 'squad', 'id', dispatch_test.id(41))
    ), 'user', dispatch_test.id(12), p_handoff_note => 'Mind the gap.'
);
select pg_temp.say('e1', 'agent 31');
select dispatch.pause_workspace(dispatch_test.id(1), 'system', p_reason => 'Stop');
select is(
    pg_temp.remove('e1'), 'e1 none not_triggered', 'no other comment, so no answer about one'
);
select is(
    (
        select concat_ws(
            ' ', r.status, r.reason, r.source, right(r.originator_id::text, 2), r.comment_id,
            r.handoff_note, right(r.squad_id::text, 2), r.is_leader_run,
            r.payload ->> 'actor_id'
        )
        from dispatch.runs as r
        where r.status <> 'cancelled'
    ),
    'queued task_assigned assign 12 Mind the gap. 41 t 00000000-0000-7000-8000-000000000012',
    'but the assignment is queued again as it was, also while the workspace is paused'
);
select dispatch.resume_workspace(dispatch_test.id(1), 'system');
delete from dispatch.run;

-- A thread goes as a whole.
select pg_temp.say('f1', 'agent 31');
select pg_temp.say('f2', 'agent 32', 'f1');
select pg_temp.say('f3', 'agent 32', 'f2', 'user', 12);
select pg_temp.say('f4', 'agent 32');
select is(
    pg_temp.remove('f1'), 'f4 agent 32 queued queued', 'a comment goes with its replies'
);
select is(board.runs(true), '32 queued f4', 'and with the runs of all of them');
select is(
    (select string_agg(c.body, ' ' order by c.body) from dispatch.comment as c), 'c2 d1 f4',
    'other comments stay'
);
select * from finish();
rollback;

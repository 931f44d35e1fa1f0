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

create function pg_temp.run_of(p_agent integer)
returns text
language sql
as $run_of$
select concat_ws(
    ' ', r.status, r.reason, right(r.originator_id::text, 2), right(r.accountable_id::text, 2),
    r.attribution_source, r.evidence_kind, r.comment_id = r.evidence_id, c.body,
    r.coalesced_count, r.priority, r.requested_at
)
from dispatch.runs as r
left join dispatch.comment as c on c.id = r.comment_id
where r.agent_id = dispatch_test.id(p_agent) and r.status <> 'cancelled';
$run_of$;

set timezone to 'UTC';
select pg_temp.say('First.', 'agent 31');
select is(
    pg_temp.run_of(31),
    'queued task_mentioned 11 11 direct_human comment t First. 1 0 2030-01-15 12:00:00+00',
    'a mention''s run'
);
select dispatch_test.advance_clock('1 h');
select dispatch.heartbeat(dispatch_test.id(1), array[dispatch_test.id(21)]);
select dispatch.update_issue(
    dispatch_test.id(1), dispatch_test.id(51), '{"priority": "urgent"}', 'system'
);
select is(
    pg_temp.say('Second.', 'agent 31', null, 'user', 12), 'agent 31 coalesced coalesced 31',
    'a comment merges into the queued run of its pair, an hour later'
);
select is(
    pg_temp.run_of(31),
    'queued task_mentioned 12 12 direct_human comment t Second. 2 0 2030-01-15 12:00:00+00',
    'which acts for the newest comment''s author; time and priority stay'
);
select results_eq(
    $$select t.outcome::text, c.body, right(t.originator_id::text, 2)
    from dispatch.run_trigger as t inner join dispatch.comment as c on c.id = t.comment_id
    order by t.seq$$,
    $$values ('queued', 'First.', '11'), ('coalesced', 'Second.', '12')$$,
    'and stands for both'
);
select is(
    (
        select jsonb_agg(t -> 'comment_id')
        from dispatch.claim_runs(dispatch_test.id(1), array[dispatch_test.id(21)]) as c
        cross join jsonb_array_elements(c.triggers) as t
    ),
    jsonb_build_array(board.comment('First.'), board.comment('Second.')),
    'whose comments the claim delivers, in order'
);
select is(
    pg_temp.say('Third.', 'agent 31'), 'agent 31 absorbed already_active 31',
    'a dispatched run absorbs the next'
);
select isnt(
    (
        select s.follow_up_run_id
        from dispatch.runs as r
        cross join dispatch.start_run(dispatch_test.id(1), r.id, 1) as s
    ),
    null, 'and owes it: its start queues a follow-up'
);
select is(
    (
        select concat_ws(' ', r.reason, r.payload ->> 'task_id', c.body)
        from dispatch.runs as r
        inner join dispatch.comment as c on c.id::text = r.payload ->> 'comment_id'
        where r.status = 'queued'
    ),
    'task_mentioned ' || dispatch_test.id(51) || ' Third.', 'whose payload names it'
);
select is(
    pg_temp.say('Fourth.', 'agent 31', null, 'user', 12), 'agent 31 coalesced coalesced 31',
    'into which the one after that merges'
);

-- An assignment that is queued takes comments, and keeps its place in the allowance.
select dispatch.create_issue(
    dispatch_test.id(1), 'Assigned', 'agent', dispatch_test.id(31), p_assignee_type => 'agent',
    p_assignee_id => dispatch_test.id(32), p_issue_id => dispatch_test.id(52)
);
select is(
    pg_temp.say('By the way.', '', null, 'user', 12, null, 52),
    'agent 32 coalesced coalesced 32', 'a comment merges into a queued assignment'
);
select is(
    pg_temp.run_of(32),
    'queued task_assigned 12 12 direct_human comment t By the way. 2 0 2030-01-15 13:00:00+00',
    'which acts for its author'
);
select results_eq(
    $$select d.payload ->> 'task_id', d.payload ->> 'actor_type', d.payload ->> 'comment_id'
    from dispatch.run_detail as d where d.reason = 'task_assigned'$$,
    $$select dispatch_test.id(52)::text, 'agent', board.comment('By the way.')::text$$,
    'and stays an agent''s assignment of its issue'
);
select is(
    dispatch._allowance_count(
        dispatch_test.id(1), dispatch_test.id(52)::text, dispatch.clock()
    ),
    1::bigint, 'which the allowance goes on to count'
);

select dispatch.put_workspace(
    dispatch_test.id(1), 'Board', p_attribution_policy => 'fail_closed'
);
create temporary table before as
select d.* from dispatch.run_detail as d where d.reason = 'task_assigned';
select is(
    pg_temp.say('Whoever I am.', 'agent 32', null, 'agent', 31, null, 52),
    'agent 32 blocked attribution_blocked 32', 'a comment for which nobody answers is refused'
);
select is(
    (
        select count(*)
        from dispatch.run_detail as d
        inner join before as b on b.run_id = d.run_id and to_jsonb(b) = to_jsonb(d)
    ),
    1::bigint, 'and leaves the queued run as it was, in every column'
);
select * from finish();
rollback;

begin;
select plan(8);
select dispatch_test.set_clock('2030-01-15 12:00:00+00');

-- Workspace 1 with members 11 and 12, runtime 21 and 11's agents 31 to 34: 31 and 32 are open
-- to all, 33 and 34 private.
select dispatch.put_workspace(dispatch_test.id(1), 'Board', 'ABC');
select dispatch.put_member(dispatch_test.id(1), dispatch_test.id(11), 'Owner');
select dispatch.put_member(dispatch_test.id(1), dispatch_test.id(12), 'Other');
select dispatch.put_runtime(dispatch_test.id(1), dispatch_test.id(21), 'daemon');
select dispatch.heartbeat(dispatch_test.id(1), array[dispatch_test.id(21)]);
select dispatch.put_agent(
    dispatch_test.id(1), dispatch_test.id(a), 'Agent', dispatch_test.id(11),
    dispatch_test.id(21), case when a < 33 then 'public_to' end
)
from generate_series(31, 34) as a;
select dispatch.grant_invoke(dispatch_test.id(1), dispatch_test.id(a), 'workspace')
from generate_series(31, 32) as a;

create function pg_temp.comment(p_body text)
returns uuid
language sql
as $comment$
select c.id from dispatch.comment as c where c.body = p_body;
$comment$;

-- Mentions as 'agent 31', 'all' or 'member 11', separated by commas.
create function pg_temp.mentions(p_text text)
returns jsonb
language sql
as $mentions$
select coalesce(
    jsonb_agg(
        jsonb_strip_nulls(jsonb_build_object(
            'type', split_part(m.word, ' ', 1),
            'id', dispatch_test.id(nullif(split_part(m.word, ' ', 2), '')::integer)
        ))
        order by m.place
    ),
    '[]'
)
from unnest(string_to_array(p_text, ', ')) with ordinality as m (word, place);
$mentions$;

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
    dispatch_test.id(p_actor), p_acting_run, pg_temp.mentions(p_mentions),
    pg_temp.comment(p_parent)
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
    dispatch_test.id(1), pg_temp.comment(p_old), p_body, p_actor_type,
    dispatch_test.id(p_actor), p_acting_run, pg_temp.mentions(p_mentions)
) with ordinality as a (
    comment_id, target_type, target_id, outcome, reason_code, run_id, agent_id, place
)
left join dispatch.comment as c on c.id = a.comment_id;
$edit$;

-- The runs in order of their making: agent, status, error, and the comments they stand for.
create function pg_temp.runs(p_is_live boolean default false)
returns text
language sql
as $runs$
select string_agg(
    concat_ws(
        ' ', right(r.agent_id::text, 2), r.status, r.error,
        coalesce((
            select string_agg(coalesce(left(c.body, 2), t.reason), '+' order by t.seq)
            from dispatch.run_trigger as t
            left join dispatch.comment as c on c.id = t.comment_id
            where t.run_id = r.id
        ), (select left(c.body, 2) from dispatch.comment as c where c.id = r.comment_id))
    ),
    '; ' order by r.id
)
from dispatch.runs as r
where not p_is_live or r.status not in ('completed', 'failed', 'cancelled');
$runs$;

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
    pg_temp.runs(true), '31 queued c3+c2+c1', 'which stands for its own comment as well'
);
select is(
    (
        select jsonb_agg(t -> 'comment_id')
        from dispatch.claim_runs(dispatch_test.id(1), array[dispatch_test.id(21)]) as c
        cross join jsonb_array_elements(c.triggers) as t
    ),
    jsonb_build_array(
        pg_temp.comment('c3'), pg_temp.comment('c2'), pg_temp.comment('c1, better')
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
    pg_temp.runs(true), '31 running d1+d2; 31 queued d1+d2', 'two runs for two comments'
);
select dispatch_test.advance_clock('1 s');
select is(
    pg_temp.edit('d1', 'd1, better', 'agent 31'),
    'd2 agent 31 queued queued; d1 agent 31 coalesced coalesced', 'an edit ends both'
);
select is(pg_temp.runs(true), '31 queued d2+d1', 'and keeps what both had once');
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
select is(pg_temp.runs(true), '31 queued task_assigned+e2', 'of which it has both');
select * from finish();
rollback;

begin;
select plan(12);
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

select dispatch.set_agent_status(dispatch_test.id(1), dispatch_test.id(34), 'active');
select dispatch.put_agent(
    dispatch_test.id(1), dispatch_test.id(35), 'Hers', dispatch_test.id(12),
    dispatch_test.id(21), 'public_to'
);
select dispatch.grant_invoke(dispatch_test.id(1), dispatch_test.id(35), 'workspace');

create function pg_temp.answers()
returns text
language sql
as $answers$
select string_agg(
    concat_ws(
        ' ', right(r.agent_id::text, 2), coalesce(right(r.originator_id::text, 2), 'nobody'),
        right(r.accountable_id::text, 2), r.attribution_source, r.evidence_kind
    ),
    '; ' order by r.agent_id
)
from dispatch.runs as r
where r.status = 'queued';
$answers$;

create function pg_temp.start(p_agent integer)
returns uuid
language sql
as $start$
select s.run_id
from dispatch.claim_run(dispatch_test.id(1), dispatch_test.id(p_agent)) as c
cross join lateral dispatch.start_run(dispatch_test.id(1), c.run_id, c.claim_no) as s;
$start$;

select pg_temp.say('Start.', 'agent 32', null, 'user', 12);
select is(pg_temp.answers(), '32 12 12 direct_human comment', 'T1: a member''s own act');
create temporary table hop as select pg_temp.start(32) as run_id;
select pg_temp.say('Next.', 'agent 35', null, 'agent', 32, h.run_id) from hop as h;
select is(pg_temp.answers(), '35 12 12 delegation comment', 'T1, T4: an agent''s mention');
select is(
    (select r.delegated_from_run_id from dispatch.runs as r where r.status = 'queued'),
    h.run_id, 'T4: which names the run that it comes from'
)
from hop as h;
select is(
    (select c.source_run_id from dispatch.comment as c where c.body = 'Next.'), h.run_id,
    'T4: as does the comment'
)
from hop as h;
create temporary table hop2 as select pg_temp.start(35) as run_id;
select pg_temp.say('And next.', 'agent 31', null, 'agent', 35, h.run_id) from hop2 as h;
select is(
    pg_temp.answers(), '31 12 12 delegation comment', 'T4: two hops on, still the first human'
);
select board.clear();
select is(
    pg_temp.say('For myself.', 'agent 33', null, 'agent', 35, h.run_id),
    'agent 33 blocked invocation_not_allowed',
    'R18: the human at the top of the chain decides, not the agent that speaks'
)
from hop2 as h;
select pg_temp.say('Cut.', 'agent 31', null, 'agent', 35);
select is(
    pg_temp.answers(), '31 nobody 11 owner_fallback comment',
    'T1, T4: without its run an agent acts for nobody, and the owner stands in'
);
select board.clear();
select pg_temp.say('Report.', '', null, 'agent', 35, h.run_id) from hop2 as h;
select is(
    pg_temp.answers(), '31 12 12 comment_source comment',
    'T1: the standing assignee that reacts to an agent''s comment'
);
select board.clear();
select pg_temp.say('A notice.', '', null, 'system', null);
select is(
    pg_temp.answers(), '31 11 11 direct_human comment',
    'the system''s words act for who created the issue'
);
select is(
    pg_temp.say('Another.', 'agent 33', null, 'system', null), 'agent 33 queued queued 33',
    'who may also invoke: gate and stamp are one'
);
select is(
    pg_temp.say('One more.', '', null, 'system', null), 'squad 41 coalesced coalesced 31',
    'and whom a merge is stamped with'
);
select board.clear();
select dispatch.create_issue(
    dispatch_test.id(1), 'Spun off', 'agent', dispatch_test.id(32), h.run_id,
    p_issue_id => dispatch_test.id(52)
)
from hop as h;
select pg_temp.say('On it.', 'agent 31', null, 'system', null, null, 52);
select is(
    pg_temp.answers(), '31 12 12 delegation comment',
    'U5: on an issue that an agent created, for the human whom that run served'
);
select * from finish();
rollback;

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

-- Claims what 31 has queued and starts it.
create function pg_temp.start()
returns uuid
language sql
as $start$
select c.run_id
from dispatch.claim_runs(
    dispatch_test.id(1), array[dispatch_test.id(21)], p_start => true
) as c;
$start$;

select dispatch.queue_wake(
    dispatch_test.id(1), dispatch_test.id(31), 'later', p_issue_id => dispatch_test.id(51),
    p_fire_at => dispatch.clock() + interval '1 h'
);
select is(
    pg_temp.say('Hello, me.', 'squad 41', null, 'agent', 31),
    'squad 41 blocked self_trigger_suppressed 31',
    'U3: a leader that mentions its squad without an active run on the issue is suppressed'
);
delete from dispatch.run;
select is(board.queued(), 'none', 'U3: nothing is queued');
select is(
    (
        select string_agg(concat_ws(' ', e.metric, e.reason, right(e.agent_id::text, 2)), ';')
        from dispatch.gate_event as e
    ),
    'refused self_trigger_suppressed 31', 'U3: which is counted'
);
select is(
    pg_temp.say('First words.', '', null, 'agent', 31), 'squad 41 queued queued 31',
    'a leader that has had no run on the issue may wake itself'
);
create temporary table held as select pg_temp.start() as run_id;
select is(
    pg_temp.say('Progress.', '', null, 'agent', 31, h.run_id),
    'squad 41 blocked self_trigger_suppressed 31', 'its leading run does not'
)
from held as h;
select is(
    pg_temp.say('All of us.', 'squad 41', null, 'agent', 31, h.run_id),
    'squad 41 absorbed already_active 31', 'U3: nor by a mention: it has the issue in hand'
)
from held as h;
select is(
    (
        select a.run_id
        from dispatch.add_comment(
            dispatch_test.id(1), dispatch_test.id(51), 'Again.', 'agent', dispatch_test.id(31),
            h.run_id, board.mentions('squad 41')
        ) as a
    ),
    h.run_id, 'U3: the answer names that run'
)
from held as h;
select is(
    (select count(*) from dispatch.run_trigger), 0::bigint,
    'U3: nothing is recorded on it that a follow-up would deliver to its own author'
);
select is(
    pg_temp.say('Your part.', 'agent 31', null, 'agent', 31, h.run_id),
    'agent 31 queued queued 31', 'a leader may name itself as a worker'
)
from held as h;
select is(
    (
        select concat_ws(' ', right(r.squad_id::text, 2), r.is_leader_run)
        from dispatch.runs as r
        where r.status = 'queued'
    ),
    '41 f', 'whose run carries the squad of the run that mentions it'
);
select dispatch.complete_run(dispatch_test.id(1), h.run_id, 1) from held as h;
update held set run_id = pg_temp.start();
select is(
    pg_temp.say('Check it.', 'agent 32', null, 'agent', 31, h.run_id),
    'agent 32 queued queued 32', 'a worker mentions another agent'
)
from held as h;
select is(
    (select r.squad_id from dispatch.runs as r where r.agent_id = dispatch_test.id(32)), null,
    'for no squad: only a leader''s run passes it on'
);
select board.clear();
select is(
    pg_temp.say('My part is done.', '', null, 'agent', 31, h.run_id),
    'squad 41 queued queued 31', 'a worker''s words wake its own leading self'
)
from held as h;
select board.clear();
select dispatch.complete_run(dispatch_test.id(1), h.run_id, 1) from held as h;
select dispatch_test.advance_clock('1 s');
select pg_temp.say('Look yourself.', 'agent 31');
update held set run_id = pg_temp.start();
select is(
    pg_temp.say('I have looked.', '', null, 'agent', 31, h.run_id),
    'squad 41 blocked self_trigger_suppressed 31',
    'but a run that somebody else asked for by name does not'
)
from held as h;
select is(
    pg_temp.say('I am another.', '', null, 'agent', 32), 'squad 41 queued queued 31',
    'the guard is about the leader alone'
);
select * from finish();
rollback;

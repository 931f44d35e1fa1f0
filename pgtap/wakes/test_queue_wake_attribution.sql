begin;
select plan(8);

select dispatch_test.set_clock('2030-01-15 12:00:00+00');
select dispatch.put_workspace(dispatch_test.id(1), 'Works');
select dispatch.put_member(dispatch_test.id(1), dispatch_test.id(2), 'Ana');
select dispatch.put_runtime(dispatch_test.id(1), dispatch_test.id(3), 'daemon-1');
select dispatch.heartbeat(dispatch_test.id(1), array[dispatch_test.id(3)]);
select dispatch.put_agent(
    dispatch_test.id(1), dispatch_test.id(4), 'alpha', dispatch_test.id(2), dispatch_test.id(3)
);
select dispatch.put_agent(
    dispatch_test.id(1), dispatch_test.id(5), 'beta', dispatch_test.id(2), dispatch_test.id(3)
);
insert into dispatch.issue (
    workspace_id, id, number, title, status, priority, creator_type, created_at, updated_at
)
select
    dispatch_test.id(1), dispatch_test.id(100 + n), n, 'issue', 'todo', 'none', 'system',
    dispatch.clock(), dispatch.clock()
from generate_series(1, 9) as n;

create function pg_temp.who(p_run_id uuid)
returns text
language sql
as $fn$
    select format(
        '%s %s %s', r.attribution_source,
        case r.originator_id
            when dispatch_test.id(2) then 'Ana' when dispatch_test.id(9) then 'Ben' else '-'
        end,
        case r.accountable_id
            when dispatch_test.id(2) then 'Ana' when dispatch_test.id(9) then 'Ben' else '-'
        end
    )
    from dispatch.runs as r
    where r.id = p_run_id;
$fn$;
select dispatch.put_member(dispatch_test.id(1), dispatch_test.id(9), 'Ben');

create temp table made (name text, run_id uuid) on commit drop;
insert into made (name, run_id)
select 'direct', d.run_id
from dispatch.queue_wake(
    dispatch_test.id(1), dispatch_test.id(4), 'mention', p_issue_id => dispatch_test.id(101),
    p_actor_type => 'user', p_actor_id => dispatch_test.id(9)
) as d;
select is(
    pg_temp.who((select m.run_id from made as m where m.name = 'direct')),
    'direct_human Ben Ben',
    'T1: a member who acts is originator and accountable'
);
insert into made (name, run_id)
select 'system', d.run_id
from dispatch.queue_wake(
    dispatch_test.id(1), dispatch_test.id(4), 'mention', p_issue_id => dispatch_test.id(102),
    p_originator_id => dispatch_test.id(9)
) as d;
select matches(
    pg_temp.who((select m.run_id from made as m where m.name = 'system')),
    ' Ben Ben$',
    'T1: the system acts for the member whom it names'
);
insert into made (name, run_id)
select 'nobody', d.run_id
from dispatch.queue_wake(
    dispatch_test.id(1), dispatch_test.id(4), 'mention', p_issue_id => dispatch_test.id(103)
) as d;
select is(
    pg_temp.who((select m.run_id from made as m where m.name = 'nobody')),
    'owner_fallback - Ana',
    'T1: when nobody acts the owner of the agent answers and has no authority'
);
insert into made (name, run_id)
select 'anonymous', d.run_id
from dispatch.queue_wake(
    dispatch_test.id(1), dispatch_test.id(4), 'mention', p_issue_id => dispatch_test.id(104),
    p_actor_type => 'user'
) as d;
select is(
    pg_temp.who((select m.run_id from made as m where m.name = 'anonymous')),
    'owner_fallback - Ana',
    'a user without an id is nobody'
);

-- alpha works on the run of Ben, on the one of nobody, and asks beta from there
select count(*) from dispatch.claim_runs(
    dispatch_test.id(1), array[dispatch_test.id(3)], 10, 10
);
insert into made (name, run_id)
select 'delegated', d.run_id
from dispatch.queue_wake(
    dispatch_test.id(1), dispatch_test.id(5), 'mention', p_issue_id => dispatch_test.id(105),
    p_actor_type => 'agent', p_actor_id => dispatch_test.id(4),
    p_acting_run_id => (select m.run_id from made as m where m.name = 'direct')
) as d;
select is(
    pg_temp.who((select m.run_id from made as m where m.name = 'delegated')),
    'delegation Ben Ben',
    'T1: an agent acts for the originator of its run'
);
select results_eq(
    $$
    select r.actor_type, r.actor_id, r.delegated_from_run_id
    from dispatch.runs as r
    where r.id = (select m.run_id from made as m where m.name = 'delegated')
    $$,
    $$
    select 'agent', dispatch_test.id(4), m.run_id from made as m where m.name = 'direct'
    $$,
    'the acting agent and its run are kept'
);
insert into made (name, run_id)
select 'lone', d.run_id
from dispatch.queue_wake(
    dispatch_test.id(1), dispatch_test.id(5), 'mention', p_issue_id => dispatch_test.id(106),
    p_actor_type => 'agent', p_actor_id => dispatch_test.id(4)
) as d;
select is(
    pg_temp.who((select m.run_id from made as m where m.name = 'lone')),
    'owner_fallback - Ana',
    'an agent outside of a run acts for nobody'
);
insert into made (name, run_id)
select 'answered', d.run_id
from dispatch.queue_wake(
    dispatch_test.id(1), dispatch_test.id(5), 'mention', p_issue_id => dispatch_test.id(107),
    p_actor_type => 'agent', p_actor_id => dispatch_test.id(4),
    p_acting_run_id => (select m.run_id from made as m where m.name = 'nobody')
) as d;
select matches(
    pg_temp.who((select m.run_id from made as m where m.name = 'answered')),
    ' - Ana$',
    'a run without an originator passes on who answers, never an authority'
);

select * from finish();
rollback;

begin;
select plan(6);
select dispatch_test.set_clock('2030-01-15 12:00:00+00');

-- Workspace 1 with members 11 and 12, runtime 21, and 11's private agents 31 and 32.
select dispatch.put_workspace(dispatch_test.id(1), 'Board', 'ABC');
select dispatch.put_member(dispatch_test.id(1), dispatch_test.id(11), 'Owner');
select dispatch.put_member(dispatch_test.id(1), dispatch_test.id(12), 'Other');
select dispatch.put_runtime(dispatch_test.id(1), dispatch_test.id(21), 'daemon');
select dispatch.heartbeat(dispatch_test.id(1), array[dispatch_test.id(21)]);
select dispatch.put_agent(
    dispatch_test.id(1), dispatch_test.id(a), 'Agent', dispatch_test.id(11),
    dispatch_test.id(21)
)
from generate_series(31, 32) as a;

-- Writes changes to an issue and tells what became of the wake.
create function pg_temp.change(
    p_issue integer,
    p_changes jsonb,
    p_suppress boolean default false,
    p_actor_type text default 'user',
    p_actor integer default 11,
    p_acting_run integer default null
)
returns text
language sql
as $change$
select concat_ws(
    ' ', u.identifier, u.assignment_generation, u.outcome, u.reason_code,
    right(u.agent_id::text, 2), u.source, u.detail ->> 'why'
)
from dispatch.update_issue(
    dispatch_test.id(1), dispatch_test.id(p_issue), p_changes, p_actor_type,
    dispatch_test.id(p_actor), dispatch_test.id(p_acting_run), 'Handed over.', p_suppress
) as u;
$change$;

create function pg_temp.assign(p_id integer, p_type text default 'agent')
returns jsonb
language sql
as $assign$
select jsonb_build_object(
    'assignee', jsonb_build_object('type', p_type, 'id', dispatch_test.id(p_id))
);
$assign$;

select dispatch.create_issue(
    dispatch_test.id(1), 'Written', 'user', dispatch_test.id(11), p_status => i.status,
    p_issue_id => dispatch_test.id(i.number)
)
from (
    values (100, 'todo'), (101, 'backlog'), (102, 'todo')
) as i (number, status);

select dispatch.put_squad(
    dispatch_test.id(1), dispatch_test.id(41), 'Squad', dispatch_test.id(31)
);
select is(
    pg_temp.change(100, pg_temp.assign(41, 'squad')), 'ABC-1 1 queued queued 31 assign',
    'a squad''s work is its leader''s run'
);
select is(
    (
        select concat_ws(' ', right(d.squad_id::text, 2), d.is_leader_run, d.reason,
            right(d.idempotency_key, 14))
        from dispatch.run_detail as d
        where d.issue_id = dispatch_test.id(100)
    ),
    '41 t task_assigned 000000000031:1', 'which names the squad and is the leader''s'
);
select is(
    pg_temp.change(101, pg_temp.assign(41, 'squad')),
    'ABC-2 1 none not_triggered parked_in_backlog', 'in backlog nothing starts'
);
select is(
    pg_temp.change(101, '{"status": "todo"}'), 'ABC-2 1 queued queued 31 status',
    'promoted: the leader''s run'
);
select dispatch.set_runtime_offline(dispatch_test.id(1), dispatch_test.id(21));
select is(
    pg_temp.change(102, pg_temp.assign(41, 'squad')),
    'ABC-3 1 none not_triggered leader_offline', 'a leader that is offline does not start'
);
select is(
    pg_temp.change(102, pg_temp.assign(31)), 'ABC-3 2 queued queued 31 assign',
    'the same agent by itself does: its run waits'
);

select * from finish();
rollback;

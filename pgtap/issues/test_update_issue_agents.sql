begin;
select plan(9);
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
    values (100, 'todo'), (101, 'backlog'), (102, 'backlog')
) as i (number, status);

-- Agent 31 works on issue 100, in a run that acts for member 11.
select dispatch.update_issue(
    dispatch_test.id(1), dispatch_test.id(100), pg_temp.assign(31), 'user', dispatch_test.id(11)
);
-- Issues 101 and 102 are parked with it as well.
select dispatch.update_issue(
    dispatch_test.id(1), dispatch_test.id(i), pg_temp.assign(31), 'user', dispatch_test.id(11)
)
from generate_series(101, 102) as i;
update dispatch.run as r
set status = 'running';

-- What agent 31 does in its run.
create function pg_temp.does(p_issue integer, p_changes jsonb)
returns text
language plpgsql
as $does$
begin
    return concat_ws(
        ' ', u.assignment_generation, u.outcome, u.reason_code, right(u.agent_id::text, 2),
        u.source, u.detail ->> 'why'
    )
    from dispatch.run as r
    cross join lateral dispatch.update_issue(
        dispatch_test.id(1), dispatch_test.id(p_issue), p_changes, 'agent',
        dispatch_test.id(31), r.id
    ) as u
    where r.status = 'running';
end;
$does$;

select is(
    pg_temp.does(100, '{"status": "backlog"}'), '1 none not_triggered parked_in_backlog',
    'parks the issue of its run'
);
select is(
    pg_temp.does(100, '{"status": "todo"}'), '1 none not_triggered self_loop',
    'and promotes it: it is not started again'
);
select is(
    (select i.status from dispatch.issue as i where i.id = dispatch_test.id(100)), 'todo',
    'the status is written all the same'
);
select is(
    pg_temp.does(101, '{"status": "todo"}'), '1 queued queued 31 status',
    'promotes another issue of its own: a run'
);
select is(
    pg_temp.does(100, pg_temp.assign(31)), '2 none not_triggered active_self_assignment',
    'takes the issue that it works on: no run'
);
select is(
    (
        select i.assignment_generation
        from dispatch.issue as i
        where i.id = dispatch_test.id(100)
    ),
    2::bigint, 'the assignment is written all the same'
);
select is(
    pg_temp.does(100, pg_temp.assign(32)), '3 queued queued 32 assign',
    'hands its issue to another agent: a run'
);
select is(
    (
        select concat_ws(' ', d.payload ->> 'actor_type', right(d.payload ->> 'actor_id', 2),
            d.actor_type, right(d.actor_id::text, 2), right(d.originator_id::text, 2),
            d.attribution_source, d.delegated_from_run_id = r.id)
        from dispatch.run_detail as d
        cross join dispatch.run as r
        where d.payload ->> 'actor_type' = 'agent' and r.status = 'running'
    ),
    'agent 31 agent 31 11 delegation t',
    'which names the agent, its run and the human behind it'
);
select is(
    dispatch_test.error_of($$
        select pg_temp.change(102, pg_temp.assign(32), false, 'agent', 31)
    $$),
    'PD403 p_changes.assignee invocation_not_allowed', 'out of a run it acts for nobody'
);

select * from finish();
rollback;

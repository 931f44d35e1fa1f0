begin;
select plan(15);
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
    values (100, 'todo')
) as i (number, status);

-- Ends what stands, so that the next wake finds the slot free.
create function pg_temp.finish()
returns void
language sql
as $finish$
update dispatch.run as r
set status = 'cancelled', finished_at = dispatch.clock()
where r.status = 'queued';
$finish$;

select is(pg_temp.change(100, pg_temp.assign(31)), 'ABC-1 1 queued queued 31 assign', 'to A');
select pg_temp.finish();
select is(pg_temp.change(100, pg_temp.assign(32)), 'ABC-1 2 queued queued 32 assign', 'to B');
select pg_temp.finish();
select is(
    pg_temp.change(100, pg_temp.assign(31)), 'ABC-1 3 queued queued 31 assign',
    'to A again: a wake of its own'
);
select pg_temp.finish();
select is(
    (
        select array_agg(d.idempotency_key order by d.run_id)
        from dispatch.run_detail as d
    ),
    (
        select array_agg(format(
            'task_assigned:%s:%s:%s', dispatch_test.id(100), dispatch_test.id(g.agent), g.place
        ) order by g.place)
        from unnest(array[31, 32, 31]) with ordinality as g (agent, place)
    ),
    'each has its own key'
);
select is(
    pg_temp.change(100, pg_temp.assign(31)), 'ABC-1 4 queued queued 31 assign',
    'the same assignee again is an assignment too'
);
select pg_temp.finish();
select is(
    pg_temp.change(100, '{"assignee": null}'), 'ABC-1 5 none not_triggered no_assignee',
    'so is clearing it'
);
select is(
    pg_temp.change(100, '{"assignee": null}'), 'ABC-1 6 none not_triggered no_assignee',
    'even when there is none'
);
select is(
    pg_temp.change(100, '{"title": "Other", "priority": "low", "status": "blocked"}'),
    'ABC-1 6 none not_triggered no_assignee', 'other changes are none'
);
select is(
    (
        select concat_ws(' ', i.title, i.priority, i.status, i.assignee_type, i.updated_at)
        from dispatch.issue as i
    ),
    'Other low blocked 2030-01-15 12:00:00+00', 'they are written'
);

select dispatch_test.advance_clock('1 minute');
create temporary table version as select i.ctid as place from dispatch.issue as i;
select is(
    pg_temp.change(100, '{"title": "Other", "priority": "low", "status": "blocked"}'),
    'ABC-1 6 none not_triggered no_assignee', 'equal values are no change'
);
select is(
    pg_temp.change(100, '{}'), 'ABC-1 6 none not_triggered no_assignee',
    'nor is an empty object'
);
select is(
    (select i.ctid from dispatch.issue as i), (select v.place from version as v),
    'the row was not written again'
);
select is(
    pg_temp.change(100, '{"title": "Other", "priority": "high"}'),
    'ABC-1 6 none not_triggered no_assignee', 'one differing value is a change'
);
select is(
    (select concat_ws(' ', i.priority, i.updated_at) from dispatch.issue as i),
    'high 2030-01-15 12:01:00+00', 'which is stamped with the clock'
);
select dispatch.update_issue(
    dispatch_test.id(1), dispatch_test.id(100), '{"title": "Third"}', 'system'
);
select is((select i.title from dispatch.issue as i), 'Third', 'a title alone is one too');

select * from finish();
rollback;

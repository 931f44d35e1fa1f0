begin;
select plan(14);
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

create function pg_temp.to(p_id integer, p_type text default 'agent') returns jsonb
language sql
as $fn$
select jsonb_build_object(
    'assignee', jsonb_build_object('type', p_type, 'id', dispatch_test.id(p_id))
);
$fn$;

-- Asks for the preview of a change and then makes it: both answers, and how often they are one.
create function pg_temp.both(
    p_issue integer,
    p_changes jsonb,
    p_actor_type text default 'user',
    p_actor integer default 11,
    p_acting_run uuid default null
)
returns text
language plpgsql
as $fn$
declare
    v_preview text;
    v_write text;
begin
    select concat_ws(
        ' ', p.outcome, p.reason_code, right(p.agent_id::text, 2), p.source, p.detail
    )
    into v_preview
    from dispatch.preview_update(
        dispatch_test.id(1), array[dispatch_test.id(p_issue)], p_changes, p_actor_type,
        dispatch_test.id(p_actor), p_acting_run
    ) as p;
    select concat_ws(
        ' ', w.outcome, w.reason_code, right(w.agent_id::text, 2), w.source, w.detail
    )
    into v_write
    from dispatch.update_issue(
        dispatch_test.id(1), dispatch_test.id(p_issue), p_changes, p_actor_type,
        dispatch_test.id(p_actor), p_acting_run
    ) as w;
    return case when v_preview = v_write then v_write else v_preview || ' BUT ' || v_write end;
end;
$fn$;
select dispatch.create_issue(
    dispatch_test.id(1), 'Gated', 'user', dispatch_test.id(11),
    p_issue_id => dispatch_test.id(i)
)
from generate_series(100, 110) as i;

select is(pg_temp.both(100, pg_temp.to(31)), 'queued queued 31 assign', 'queued');
select is(pg_temp.both(100, pg_temp.to(31)), 'coalesced coalesced 31 assign', 'coalesced');
select dispatch_test.advance_clock(interval '6 seconds');
select is(pg_temp.both(100, pg_temp.to(31)), 'absorbed already_active 31 assign', 'absorbed');

-- The run of another producer has the key that the next assignment will have.
select dispatch.queue_wake(
    dispatch_test.id(1), dispatch_test.id(31), 'task_assigned',
    p_idempotency_key => format(
        'task_assigned:%s:%s:1', dispatch_test.id(101), dispatch_test.id(31)
    ),
    p_originator_id => dispatch_test.id(11)
);
select is(
    pg_temp.both(101, pg_temp.to(31)),
    'deduplicated duplicate_recent 31 assign {"status": "queued"}', 'a recent duplicate'
);
select dispatch.queue_wake(
    dispatch_test.id(1), dispatch_test.id(32), 'task_assigned',
    p_idempotency_key => format(
        'task_assigned:%s:%s:2', dispatch_test.id(101), dispatch_test.id(31)
    ),
    p_originator_id => dispatch_test.id(11)
);
select dispatch_test.advance_clock(dispatch.duplicate_window());
select is(
    pg_temp.both(101, pg_temp.to(31)), 'deduplicated duplicate_key assign',
    'a duplicate by the durable key of another agent''s run, which is not named'
);

select dispatch.set_agent_status(dispatch_test.id(1), dispatch_test.id(32), 'paused');
select is(
    pg_temp.both(102, pg_temp.to(32)), 'blocked agent_not_runnable 32 assign',
    'an agent that is paused'
);
select dispatch.set_agent_status(dispatch_test.id(1), dispatch_test.id(32), 'active');
select dispatch.heartbeat(dispatch_test.id(1), array[dispatch_test.id(21)]);
select dispatch.grant_invoke(dispatch_test.id(1), dispatch_test.id(32), 'workspace');
select dispatch.put_agent(
    dispatch_test.id(1), dispatch_test.id(32), 'Open', dispatch_test.id(11),
    p_permission => 'public_to'
);

-- An agent hands one issue on, again and again.
create function pg_temp.hand_on(p_times integer) returns text
language plpgsql
as $fn$
declare
    v_answers text[] := '{}';
begin
    for v_i in 1..p_times loop
        v_answers := v_answers || pg_temp.both(103, pg_temp.to(32), 'agent', 31);
        update dispatch.run as r
        set status = 'cancelled', finished_at = dispatch.clock()
        where r.issue_id = dispatch_test.id(103) and r.status = 'queued';
    end loop;
    return (select string_agg(distinct a, '; ') from unnest(v_answers) as a);
end;
$fn$;
select is(
    pg_temp.hand_on(dispatch.allowance_limit()), 'queued queued 32 assign',
    'an agent''s assignments within the allowance'
);
select matches(
    pg_temp.both(103, pg_temp.to(32), 'agent', 31),
    '^rate_limited allowance_exhausted 32 assign \{.*"observed": 5', 'the sixth is refused'
);
select is(
    pg_temp.both(103, pg_temp.to(32)), 'queued queued 32 assign', 'a person''s is not'
);

select dispatch.put_workspace(
    dispatch_test.id(1), 'Board', p_attribution_policy => 'fail_closed'
);
select is(
    pg_temp.both(104, pg_temp.to(32), 'system', null), 'blocked attribution_blocked 32 assign',
    'nobody answers'
);
select is(
    pg_temp.both(104, pg_temp.to(31) || '{"status": "backlog"}'),
    'none not_triggered {"why": "parked_in_backlog"}', 'no wake'
);
select dispatch.pause_workspace(
    dispatch_test.id(1), 'user', dispatch_test.id(11), p_reason => 'Stop'
);
select is(
    pg_temp.both(104, '{"status": "todo"}'), 'blocked paused 31 status', 'a pause'
);

-- A read that fails: the pause fails closed, the count open.
create or replace function dispatch._workspace_is_paused(p_workspace_id uuid)
returns boolean
language plpgsql
stable
as $fn$
begin
    raise exception 'unreadable';
end;
$fn$;
select is(
    pg_temp.both(105, pg_temp.to(31)), 'blocked pause_unreadable 31 assign',
    'a pause that cannot be read'
);
create or replace function dispatch._workspace_is_paused(p_workspace_id uuid)
returns boolean
language sql
stable
as $fn$ select false; $fn$;
create or replace function dispatch._allowance_count(
    p_workspace_id uuid, p_task_id text, p_at timestamptz
)
returns bigint
language plpgsql
stable
as $fn$
begin
    raise exception 'unreadable';
end;
$fn$;
select dispatch.put_workspace(
    dispatch_test.id(1), 'Board', p_attribution_policy => 'owner_fallback'
);
select is(
    pg_temp.both(106, pg_temp.to(32), 'agent', 31), 'queued queued 32 assign',
    'a count that cannot be read'
);

select * from finish();
rollback;

begin;
select plan(12);

select dispatch_test.set_clock('2030-01-15 12:00:00+00');
select dispatch.put_workspace(dispatch_test.id(1), 'Works');
select dispatch.put_member(dispatch_test.id(1), dispatch_test.id(2), 'Ana');
select dispatch.put_runtime(dispatch_test.id(1), dispatch_test.id(3), 'daemon-1');
select dispatch.heartbeat(dispatch_test.id(1), array[dispatch_test.id(3)]);
select dispatch.put_agent(
    dispatch_test.id(1), dispatch_test.id(10 + n), 'agent ' || n, dispatch_test.id(2),
    dispatch_test.id(3)
)
from generate_series(1, 12) as n;
insert into dispatch.issue (
    workspace_id, id, number, title, status, priority, creator_type, created_at, updated_at
)
select
    dispatch_test.id(1), dispatch_test.id(100 + n), n, 'issue', 'todo', 'none', 'system',
    dispatch.clock(), dispatch.clock()
from generate_series(1, 3) as n;

create function pg_temp.counters() returns text
language sql
as $fn$
    select string_agg(c.reason || '=' || c.value, ' ' order by c.reason)
    from dispatch.gate_counters as c
    where c.value > 0;
$fn$;

create function pg_temp.observed(p_issue integer) returns bigint
language plpgsql
as $fn$
begin
    return dispatch._allowance_count(
        dispatch_test.id(1), dispatch_test.id(100 + p_issue)::text, dispatch.clock()
    );
end;
$fn$;

create function pg_temp.assign(
    p_issue integer,
    p_agent integer,
    p_actor_type text default 'agent',
    p_more jsonb default '{}'
)
returns text
language sql
as $fn$
    select concat_ws(
        ' ', u.assignment_generation, u.outcome, u.reason_code, right(u.agent_id::text, 2),
        u.source, u.run_id is not null
    )
    from dispatch.update_issue(
        dispatch_test.id(1), dispatch_test.id(100 + p_issue),
        p_more || jsonb_build_object(
            'assignee', case
                when p_agent is not null
                    then jsonb_build_object(
                        'type', 'agent', 'id', dispatch_test.id(10 + p_agent)
                    )
            end
        ),
        p_actor_type,
        case p_actor_type
            when 'agent' then dispatch_test.id(11)
            when 'user' then dispatch_test.id(2)
        end,
        case p_actor_type
            when 'agent' then (
                select r.id from dispatch.run as r where r.agent_id = dispatch_test.id(11)
            )
        end
    ) as u;
$fn$;
select dispatch.put_agent(
    dispatch_test.id(1), dispatch_test.id(18), 'open', dispatch_test.id(2),
    p_permission => 'public_to'
);
select dispatch.grant_invoke(dispatch_test.id(1), dispatch_test.id(18), 'workspace');
-- Agent 1 works for Ana, and assigns from its run.
select dispatch.queue_wake(
    dispatch_test.id(1), dispatch_test.id(11), 'work', p_actor_type => 'user',
    p_actor_id => dispatch_test.id(2)
);
select dispatch.start_run(dispatch_test.id(1), c.run_id, 1)
from dispatch.claim_run(dispatch_test.id(1), dispatch_test.id(11)) as c;

select is(
    (
        select string_agg(pg_temp.assign(1, 1 + n), ', ' order by n)
        from generate_series(1, 5) as n
    ),
    '1 queued queued 12 assign t, 2 queued queued 13 assign t, 3 queued queued 14 assign t, '
    '4 queued queued 15 assign t, 5 queued queued 16 assign t',
    'T44, S8: an agent assigns an issue five times'
);
select is(
    (
        select jsonb_agg(distinct r.payload)
        from dispatch.runs as r
        where r.reason = 'task_assigned'
    ),
    jsonb_build_array(jsonb_build_object(
        'task_id', dispatch_test.id(101), 'actor_type', 'agent',
        'actor_id', dispatch_test.id(11)
    )),
    'T44, S8, 001.13: the payload says that an agent assigned, and which'
);
select is(
    pg_temp.assign(1, 7, 'agent', '{"title": "New", "priority": "high"}'),
    '6 rate_limited allowance_exhausted 17 assign f',
    'T42: the wake of the sixth is refused'
);
select results_eq(
    $$
    select i.title, i.priority, i.assignee_id, i.assignment_generation
    from dispatch.issue as i
    where i.id = dispatch_test.id(101)
    $$,
    $$values ('New', 'high', dispatch_test.id(17), 6::bigint)$$,
    'T42, 001.7: the write stands, with all that it changed'
);
select is(
    (
        select count(*)
        from dispatch.run as r
        where r.issue_id = dispatch_test.id(101) and r.agent_id = dispatch_test.id(17)
    ),
    0::bigint,
    'T42: and its assignee has no run'
);
select is(
    pg_temp.assign(1, null), '7 none not_triggered f',
    'T25, S11, 001.9: taking the assignee away is no wake'
);
select is(pg_temp.counters(), 'allowance_exhausted=1', 'T25: it moves no counter');
select is(
    pg_temp.assign(1, 7, 'user') || ', ' || pg_temp.assign(1, 8, 'system'),
    '8 queued queued 17 assign t, 9 queued queued 18 assign t',
    'T2, T3, S2: a member and a caller that names no agent are not limited'
);
select results_eq(
    $$
    select r.payload
    from dispatch.runs as r
    where r.agent_id in (dispatch_test.id(17), dispatch_test.id(18))
    order by r.agent_id
    $$,
    $$
    select jsonb_build_object(
        'task_id', dispatch_test.id(101), 'actor_type', 'user', 'actor_id', t.id
    )
    from (values (1, dispatch_test.id(2)), (2, null)) as t (step, id)
    order by t.step
    $$,
    'T3, S2: both are users to the allowance'
);
select is(pg_temp.observed(1), 5::bigint, 'T25: nothing but the five has a place');
select is(
    (
        select string_agg(u.outcome::text, ' ')
        from dispatch.update_issues(
            dispatch_test.id(1),
            array[dispatch_test.id(101), dispatch_test.id(102), dispatch_test.id(103)],
            jsonb_build_object(
                'assignee', jsonb_build_object('type', 'agent', 'id', dispatch_test.id(19))
            ),
            'agent', dispatch_test.id(11),
            (select r.id from dispatch.run as r where r.agent_id = dispatch_test.id(11))
        ) as u
    ),
    'rate_limited queued queued',
    'each issue of a batch has its own allowance'
);
select is(
    (
        select array_agg(i.assignee_id = dispatch_test.id(19)) from dispatch.issue as i
    ),
    array[true, true, true],
    'and all of them are assigned'
);

select * from finish();
rollback;

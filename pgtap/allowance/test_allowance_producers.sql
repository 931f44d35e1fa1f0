begin;
select plan(8);

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

create function pg_temp.actor_of(p_run uuid) returns text
language sql
as $fn$
    select concat_ws(
        ' ', r.source, r.reason, coalesce(r.payload ->> 'actor_type', '-'),
        coalesce(r.idempotency_key, '-')
    )
    from dispatch.runs as r
    where r.id = p_run;
$fn$;
create function pg_temp.assignee(p_agent integer) returns jsonb
language sql
as $fn$
    select jsonb_build_object(
        'assignee', jsonb_build_object('type', 'agent', 'id', dispatch_test.id(10 + p_agent))
    );
$fn$;
create temp table made (name text, run_id uuid) on commit drop;
update dispatch.workspace as w set issue_counter = 3 where true;
select dispatch.put_agent(
    dispatch_test.id(1), dispatch_test.id(15), 'open', dispatch_test.id(2),
    p_permission => 'public_to'
);
select dispatch.grant_invoke(dispatch_test.id(1), dispatch_test.id(15), 'workspace');
select dispatch.queue_wake(
    dispatch_test.id(1), dispatch_test.id(11), 'work', p_actor_type => 'user',
    p_actor_id => dispatch_test.id(2)
);
insert into made (name, run_id)
select 'acting', c.run_id
from dispatch.claim_run(dispatch_test.id(1), dispatch_test.id(11)) as c;
select dispatch.start_run(dispatch_test.id(1), m.run_id, 1) from made as m;

insert into made (name, run_id)
select 'by agent', u.run_id
from made as m
cross join lateral dispatch.update_issue(
    dispatch_test.id(1), dispatch_test.id(101), pg_temp.assignee(2), 'agent',
    dispatch_test.id(11), m.run_id
) as u
where m.name = 'acting';
insert into made (name, run_id)
select 'created by agent', u.run_id
from made as m
cross join lateral dispatch.create_issue(
    dispatch_test.id(1), 'New', 'agent', dispatch_test.id(11), m.run_id,
    p_assignee_type => 'agent', p_assignee_id => dispatch_test.id(13),
    p_issue_id => dispatch_test.id(110)
) as u
where m.name = 'acting';
insert into made (name, run_id)
select 'created by user', u.run_id
from dispatch.create_issue(
    dispatch_test.id(1), 'New', 'user', dispatch_test.id(2),
    p_assignee_type => 'agent', p_assignee_id => dispatch_test.id(14),
    p_issue_id => dispatch_test.id(111)
) as u;
insert into made (name, run_id)
select 'created by system', u.run_id
from dispatch.create_issue(
    dispatch_test.id(1), 'New', 'system',
    p_assignee_type => 'agent', p_assignee_id => dispatch_test.id(15),
    p_issue_id => dispatch_test.id(112)
) as u;
insert into made (name, run_id)
select 'promoted', u.run_id
from dispatch.create_issue(
    dispatch_test.id(1), 'New', 'user', dispatch_test.id(2), p_status => 'backlog',
    p_assignee_type => 'agent', p_assignee_id => dispatch_test.id(16),
    p_issue_id => dispatch_test.id(113)
) as b
cross join lateral dispatch.update_issue(
    dispatch_test.id(1), b.issue_id, '{"status": "todo"}', 'user', dispatch_test.id(2)
) as u;

select is(
    pg_temp.actor_of(m.run_id), replace(t.wants, '$', dispatch_test.id(t.issue)::text),
    'S17, T43: ' || t.name
)
from (
    values
        (
            1, 'by agent', 101,
            format('assign task_assigned agent task_assigned:$:%s:1', dispatch_test.id(12))
        ),
        (
            2, 'created by agent', 110,
            format('assign task_assigned agent task_assigned:$:%s:1', dispatch_test.id(13))
        ),
        (
            3, 'created by user', 111,
            format('assign task_assigned user task_assigned:$:%s:1', dispatch_test.id(14))
        ),
        (
            4, 'created by system', 112,
            format('assign task_assigned user task_assigned:$:%s:1', dispatch_test.id(15))
        ),
        (5, 'promoted', 113, 'status task_promoted - -')
) as t (step, name, issue, wants)
inner join made as m on m.name = t.name
order by t.step;

select dispatch.claim_run(dispatch_test.id(1), dispatch_test.id(a))
from generate_series(12, 14, 2) as a;
insert into made (name, run_id)
select 'retry ' || m.name, t.retry_run_id
from made as m
cross join lateral dispatch.fail_run(dispatch_test.id(1), m.run_id, 1, 'timeout') as t
where m.name in ('by agent', 'created by user');
select is(
    pg_temp.actor_of(m.run_id), t.wants, 'S17, T43: a ' || t.name || ' is as its run''s'
)
from (
    values
        ('retry by agent', 'retry task_assigned agent -'),
        ('retry created by user', 'retry task_assigned user -')
) as t (name, wants)
inner join made as m on m.name = t.name;
select is(
    (
        select string_agg(p.proname::text, ' ' order by p.proname)
        from pg_catalog.pg_proc as p
        where p.pronamespace = 'dispatch'::regnamespace
            and p.prosrc ~ $$'actor_type',$$
            and p.prosrc ~ $$'task_id',$$
    ),
    '_issue_wake',
    'S17, 001.12: one function writes an actor into a payload'
);

select * from finish();
rollback;

begin;
select plan(5);

select dispatch_test.set_clock('2030-01-15 12:00:00+00');
select dispatch.put_workspace(dispatch_test.id(1), 'Works');
select dispatch.put_member(dispatch_test.id(1), dispatch_test.id(2), 'Ana');
select dispatch.put_runtime(dispatch_test.id(1), dispatch_test.id(3), 'daemon-1');
select dispatch.heartbeat(dispatch_test.id(1), array[dispatch_test.id(3)]);
select dispatch.put_agent(
    dispatch_test.id(1), dispatch_test.id(4), 'alpha', dispatch_test.id(2), dispatch_test.id(3)
);
insert into dispatch.issue (
    workspace_id, id, number, title, status, priority, creator_type, created_at, updated_at
)
select
    dispatch_test.id(1), dispatch_test.id(100 + n), n, 'issue', 'todo', 'none', 'system',
    dispatch.clock(), dispatch.clock()
from generate_series(1, 4) as n;

create function pg_temp.wake(
    p_issue integer,
    p_payload jsonb default '{}',
    p_priority integer default 0
)
returns uuid
language sql
as $fn$
    select d.run_id
    from dispatch.queue_wake(
        dispatch_test.id(1), dispatch_test.id(4), 'mention', p_payload,
        p_issue_id => dispatch_test.id(100 + p_issue), p_priority => p_priority
    ) as d;
$fn$;

create function pg_temp.finish(p_issue integer, p_session text, p_lost boolean)
returns text
language plpgsql
as $fn$
declare
    v_run constant uuid := pg_temp.wake(p_issue);
begin
    update dispatch.run_detail as d
    set session_id = 'pinned', work_dir = '/pinned'
    where d.run_id = v_run;
    perform dispatch.claim_run(dispatch_test.id(1), dispatch_test.id(4));
    perform dispatch.start_run(dispatch_test.id(1), v_run, 1);
    perform dispatch.complete_run(
        dispatch_test.id(1), v_run, 1, p_session_id => p_session, p_work_dir => '/w',
        p_session_lost => p_lost
    );
    return (
        select concat_ws(' ', coalesce(v.session_id, '-'), coalesce(v.work_dir, '-'))
        from dispatch.runs as v
        where v.id = v_run
    );
end;
$fn$;

select is(pg_temp.finish(1, 's1', false), 's1 /w', 'the session reported is kept');
select is(pg_temp.finish(2, null, false), '- /w', 'S4: no session clears it');
select is(
    pg_temp.finish(3, 's3', true), '- /w', 'S4: a lost session is cleared although it is given'
);
create temp table run on commit drop as select pg_temp.wake(4) as id;
update dispatch.run_detail as d
set work_dir = '/pinned'
where d.run_id = (select r.id from run as r);
select count(*) from dispatch.claim_run(dispatch_test.id(1), dispatch_test.id(4));

select dispatch.start_run(dispatch_test.id(1), (select r.id from run as r), 1);
select dispatch.complete_run(dispatch_test.id(1), (select r.id from run as r), 1);
select results_eq(
    $$
    select v.status::text, v.result, v.session_id, v.work_dir
    from dispatch.runs as v
    where v.id = (select r.id from run as r)
    $$,
    $$values ('completed', null::jsonb, null::text, null::text)$$,
    'a report without result, session and directory leaves none'
);
select is(
    (
        select t.applied
        from dispatch.complete_run(dispatch_test.id(1), (select r.id from run as r), 1) as t
    ),
    true,
    'R07: and can be repeated'
);

select * from finish();
rollback;

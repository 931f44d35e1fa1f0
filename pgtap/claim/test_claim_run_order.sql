begin;
select plan(6);

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
from generate_series(1, 5) as n;

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

create temp table run (name text, id uuid) on commit drop;
insert into run (name, id) values ('low, old', pg_temp.wake(1));
select dispatch_test.advance_clock(interval '1 second');
insert into run (name, id) values ('high, younger', pg_temp.wake(2, '{}', 5));
select dispatch_test.advance_clock(interval '-2 seconds');
insert into run (name, id) values ('high, older', pg_temp.wake(3, '{}', 5));
select dispatch_test.advance_clock(interval '1 second');
insert into run (name, id) values ('low, same instant, later id', pg_temp.wake(4));
insert into run (name, id) values ('below zero', pg_temp.wake(5, '{}', -1));
create function pg_temp.next()
returns text
language sql
as $fn$
    select r.name
    from dispatch.claim_run(dispatch_test.id(1), dispatch_test.id(4)) as c
    inner join run as r on r.id = c.run_id;
$fn$;

select is(pg_temp.next(), 'high, older', 'C5: the highest priority first, the older of two');
select is(pg_temp.next(), 'high, younger', 'C5: then the younger');
select is(pg_temp.next(), 'low, old', 'C5: then the next priority');
select is(
    pg_temp.next(), 'low, same instant, later id', 'C5: equal instants are settled by the id'
);
select is(pg_temp.next(), 'below zero', 'C5: and the lowest priority last');
select is(pg_temp.next(), null, 'until there is none');

select * from finish();
rollback;

begin;
select plan(7);

select dispatch_test.set_clock('2030-01-15 12:00:00+00');
select dispatch.put_workspace(dispatch_test.id(1), 'Works');
select dispatch.put_member(dispatch_test.id(1), dispatch_test.id(2), 'Ana');
select dispatch.put_runtime(dispatch_test.id(1), dispatch_test.id(3), 'daemon-1');
select dispatch.heartbeat(dispatch_test.id(1), array[dispatch_test.id(3)]);
select dispatch.put_agent(
    dispatch_test.id(1), dispatch_test.id(4), 'alpha', dispatch_test.id(2), dispatch_test.id(3)
);

create function pg_temp.ask(
    p_chat integer default null,
    p_autopilot integer default null,
    p_priority integer default 0
)
returns uuid
language plpgsql
as $fn$
declare
    v_run constant uuid := (dispatch.queue_wake(
        dispatch_test.id(1), dispatch_test.id(4), 'tick', p_priority => p_priority,
        p_chat_session_id => dispatch_test.id(p_chat)
    )).run_id;
begin
    if p_autopilot is not null then
        -- a run of an autopilot has its own id as its lane
        update dispatch.run as r set lane = r.id where r.id = v_run;
        update dispatch.run_detail as d
        set autopilot_run_id = dispatch_test.id(p_autopilot)
        where d.run_id = v_run;
    end if;
    return v_run;
end;
$fn$;
create temp table run (name text, id uuid) on commit drop;
create function pg_temp.next()
returns text
language sql
as $fn$
    select r.name
    from dispatch.claim_run(dispatch_test.id(1), dispatch_test.id(4)) as c
    inner join run as r on r.id = c.run_id;
$fn$;
insert into run (name, id)
values
('chat 1', pg_temp.ask(50, p_priority => 9)),
('chat 1 again', pg_temp.ask(50, p_priority => 8)),
('quick', pg_temp.ask(p_priority => 7)), ('quick again', pg_temp.ask(p_priority => 6)),
('chat 2', pg_temp.ask(51, p_priority => 5)),
('autopilot', pg_temp.ask(null, 60)), ('autopilot again', pg_temp.ask(null, 60));

select is(pg_temp.next(), 'chat 1', 'the first run of a chat is claimed');
select is(pg_temp.next(), 'quick', 'R13: its second is passed over, a quick-create run is not');
select is(pg_temp.next(), 'chat 2', 'R13: the second quick-create run is; another chat is not');
select is(
    pg_temp.next() || ', ' || pg_temp.next(), 'autopilot, autopilot again',
    'runs of an autopilot stand in nobody''s way'
);
select is(pg_temp.next(), null, 'R13: the rest wait for their lanes');
select dispatch.cancel_run(
    dispatch_test.id(1), (select r.id from run as r where r.name = 'chat 1'), 'system'
);
select is(
    pg_temp.next(), 'chat 1 again', 'R13: the next of a chat goes when the first has ended'
);
select dispatch.fail_run(
    dispatch_test.id(1), (select r.id from run as r where r.name = 'quick'), 1
);
select is(pg_temp.next(), 'quick again', 'R13: so does the next quick-create run');

select * from finish();
rollback;

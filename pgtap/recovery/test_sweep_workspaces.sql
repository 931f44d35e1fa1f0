begin;
select plan(5);

create function pg_temp.works(p_workspace integer)
returns void
language sql
as $fn$
    select dispatch.put_workspace(dispatch_test.id(p_workspace), 'Works');
    select dispatch.put_member(dispatch_test.id(p_workspace), dispatch_test.id(2), 'Ana');
    select dispatch.put_runtime(dispatch_test.id(p_workspace), dispatch_test.id(3), 'daemon');
    select dispatch.heartbeat(dispatch_test.id(p_workspace), array[dispatch_test.id(3)]);
    select dispatch.put_agent(
        dispatch_test.id(p_workspace), dispatch_test.id(4), 'alpha', dispatch_test.id(2),
        dispatch_test.id(3)
    );
    select dispatch.queue_wake(
        dispatch_test.id(p_workspace), dispatch_test.id(4), 'work',
        p_chat_session_id => gen_random_uuid()
    )
    from generate_series(1, 3);
$fn$;
select dispatch_test.set_clock('2030-01-15 12:00:00+00');
select pg_temp.works(1001);
select pg_temp.works(1002);
select pg_temp.works(1003);
create function pg_temp.failed()
returns text
language sql
as $fn$
    select string_agg(w.failed::text, ' ' order by w.id)
    from (
        select w.id, count(*) filter (where r.status = 'failed') as failed
        from dispatch.workspace as w
        inner join dispatch.run as r on r.workspace_id = w.id
        group by w.id
    ) as w;
$fn$;
select dispatch.pause_workspace(dispatch_test.id(1002), 'system', p_reason => 'holiday');
select dispatch_test.advance_clock(interval '2 hours 1 microsecond');

select is(
    (select s.runs from dispatch.sweep(4, 'queued') as s), 4,
    'p_max bounds a sweep over all workspaces'
);
select is(pg_temp.failed(), '3 0 1', 'a workspace with nothing to do stops none behind it');
select is((select s.runs from dispatch.sweep(4, 'queued') as s), 2, 'the next call goes on');
select is(pg_temp.failed(), '3 0 3', 'R08: until all is done');
select is((select s.runs from dispatch.sweep(4, 'queued') as s), 0, 'and then nothing');

select * from finish();
rollback;

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

-- 500 ids minted by single calls and by batches in turn
create temp table minted (n integer, id uuid) on commit drop;
do $do$
begin
    for v_turn in 1..100 loop
        insert into minted (n, id)
        select v_turn * 10, d.run_id
        from dispatch.queue_wake(dispatch_test.id(1), dispatch_test.id(4), 'tick') as d;
        insert into minted (n, id)
        select v_turn * 10 + d.ordinality, d.run_id
        from dispatch.queue_wakes(
            dispatch_test.id(1),
            (
                select jsonb_agg(
                    jsonb_build_object('agent_id', dispatch_test.id(4), 'reason', 'tick')
                )
                from generate_series(1, 4)
            )
        ) with ordinality as d;
    end loop;
end;
$do$;

select is((select count(distinct m.id) from minted as m), 500::bigint, 'no id is minted twice');
select is(
    (select array_agg(m.n order by m.id) from minted as m),
    (select array_agg(m.n order by m.n) from minted as m),
    'R05: ids ascend in the order of the wakes, in a batch and from call to call'
);
select is(
    (
        select string_agg(distinct substr(m.id::text, 15, 1), '') from minted as m
    ),
    '7',
    'they are of version 7'
);
select matches(
    (select string_agg(distinct substr(m.id::text, 20, 1), '') from minted as m),
    '^[89ab]+$',
    'and of the usual variant'
);
select cmp_ok(
    (
        select max(abs(
            ('x' || substr(replace(m.id::text, '-', ''), 1, 12))::bit(48)::bigint
            - extract(epoch from clock_timestamp()) * 1000
        ))
        from minted as m
    ),
    '<',
    60000::numeric,
    'they carry the time of day, whatever dispatch.clock() is pinned to'
);
select is(
    (select count(distinct v.requested_at) from dispatch.runs as v), 1::bigint,
    'while the runs carry the pinned instant'
);

select * from finish();
rollback;

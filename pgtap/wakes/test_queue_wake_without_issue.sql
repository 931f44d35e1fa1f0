begin;
select plan(10);

select dispatch_test.set_clock('2030-01-15 12:00:00+00');
select dispatch.put_workspace(dispatch_test.id(1), 'Works');
select dispatch.put_member(dispatch_test.id(1), dispatch_test.id(2), 'Ana');
select dispatch.put_runtime(dispatch_test.id(1), dispatch_test.id(3), 'daemon-1');
select dispatch.heartbeat(dispatch_test.id(1), array[dispatch_test.id(3)]);
select dispatch.put_agent(
    dispatch_test.id(1), dispatch_test.id(4), 'alpha', dispatch_test.id(2), dispatch_test.id(3)
);

create function pg_temp.ask(
    p_chat_session_id uuid default null,
    p_key text default null
)
returns text
language sql
as $fn$
    select d.outcome::text
    from dispatch.queue_wake(
        dispatch_test.id(1), dispatch_test.id(4), 'tick', '{}', p_key,
        p_chat_session_id => p_chat_session_id, p_coalesce => false
    ) as d;
$fn$;

select is(
    pg_temp.ask() || ' ' || pg_temp.ask(), 'queued queued',
    'Q4: two quick-create runs of one agent may queue'
);
select is(
    pg_temp.ask(dispatch_test.id(50)) || ' ' || pg_temp.ask(dispatch_test.id(50)),
    'queued queued',
    'Q4: two runs of one chat session may queue'
);
select is(
    pg_temp.ask(dispatch_test.id(51)), 'queued', 'another chat session queues as well'
);
select is(
    (
        select count(distinct r.lane)
        from dispatch.runs as r
        where r.chat_session_id is null
    ),
    1::bigint,
    'quick-create runs of an agent share a lane'
);
select is(
    (
        select count(distinct r.lane)
        from dispatch.runs as r
        where r.chat_session_id = dispatch_test.id(50)
    ),
    1::bigint,
    'so do the runs of a chat session'
);
select is(
    (select count(distinct r.lane) from dispatch.runs as r), 3::bigint,
    'quick-create and each chat session are lanes of their own'
);
select is(
    (
        select count(*)
        from dispatch.claim_runs(dispatch_test.id(1), array[dispatch_test.id(3)], 10, 10)
    ),
    3::bigint,
    'R13: a batch claim takes one run of each lane'
);
select is_empty(
    'select c.run_id from dispatch.claim_run(dispatch_test.id(1), dispatch_test.id(4)) as c',
    'R13: a single claim keeps the same rule'
);
select is(
    pg_temp.ask(null, '') || ' ' || pg_temp.ask(null, ''),
    'queued queued',
    'R13: an empty key is no key'
);
select is(
    (select count(*) from dispatch.runs as r where r.idempotency_key is not null),
    0::bigint,
    'R13: and is stored as none'
);

select * from finish();
rollback;

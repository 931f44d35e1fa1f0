begin;
select plan(8);

select dispatch_test.set_clock('2030-01-15 12:00:00+00');
select dispatch.put_workspace(dispatch_test.id(1), 'Works');
select dispatch.put_member(dispatch_test.id(1), dispatch_test.id(2), 'Ana');
select dispatch.put_runtime(dispatch_test.id(1), dispatch_test.id(3), 'daemon-1');
select dispatch.heartbeat(dispatch_test.id(1), array[dispatch_test.id(3)]);
select dispatch.put_agent(
    dispatch_test.id(1), dispatch_test.id(4), 'alpha', dispatch_test.id(2), dispatch_test.id(3)
);

-- one run in each status for each number that a report may carry
create temp table place (status dispatch.run_status, given integer, run_id uuid) on commit drop;
insert into place (status, given, run_id)
select s.status, g.given, gen_random_uuid()
from unnest(enum_range(null::dispatch.run_status)) as s (status)
cross join (values (2), (3), (4)) as g (given);
insert into dispatch.run (
    workspace_id, id, agent_id, runtime_id, lane, status, claim_no, requested_at, fire_at,
    dispatched_at, lease_expires_at, started_at, finished_at
)
select
    dispatch_test.id(1), p.run_id, dispatch_test.id(4), dispatch_test.id(3), p.run_id,
    p.status, 3, dispatch.clock(), case when p.status = 'deferred' then dispatch.clock() end,
    case when p.status not in ('deferred', 'queued') then dispatch.clock() end,
    case
        when p.status in ('dispatched', 'waiting_local_directory')
            then dispatch.clock() + interval '30 seconds'
    end,
    case when p.status in ('running', 'completed') then dispatch.clock() end,
    case when p.status in ('completed', 'failed', 'cancelled') then dispatch.clock() end
from place as p;
insert into dispatch.run_detail (
    workspace_id, run_id, requested_at, reason, source, payload, actor_type, attribution_source,
    accountable_id, chat_session_id
)
select
    dispatch_test.id(1), p.run_id, dispatch.clock(), 'mention', 'wake', '{}', 'system',
    'owner_fallback', dispatch_test.id(2), p.run_id
from place as p;
create function pg_temp.shot(p_run_id uuid)
returns text
language sql
as $fn$
    select r::text || d::text
    from dispatch.run as r
    inner join dispatch.run_detail as d
        on d.workspace_id = r.workspace_id and d.run_id = r.id
    where r.id = p_run_id;
$fn$;
create temp table before on commit drop as
select p.run_id, pg_temp.shot(p.run_id) as shot from place as p;
select dispatch_test.advance_clock(interval '10 seconds');

create temp table answer on commit drop as
select
    p.status as from_status, p.given, p.run_id as asked_id, t.applied, t.run_id, t.status,
    t.claim_no, t.retry_run_id, t.reason, t.follow_up_run_id
from place as p
cross join lateral dispatch.wait_run(
    dispatch_test.id(1), p.run_id, p.given, 'checkout'
) as t;

select results_eq(
    $$
    select a.from_status::text, a.applied, a.status::text, a.reason
    from answer as a
    where a.given = 3
    order by a.from_status
    $$,
    $$
    values
    ('deferred', false, 'deferred', 'wrong_state'),
    ('queued', false, 'queued', 'wrong_state'),
    ('dispatched', true, 'waiting_local_directory', null),
    ('waiting_local_directory', false, 'waiting_local_directory', 'wrong_state'),
    ('running', false, 'running', 'wrong_state'),
    ('completed', false, 'completed', 'already_terminal'),
    ('failed', false, 'failed', 'already_terminal'),
    ('cancelled', false, 'cancelled', 'already_terminal')
    $$,
    'S5: only a dispatched run begins to wait'
);
select is(
    (
        select string_agg(distinct concat(a.applied, a.reason), ' ')
        from answer as a
        where a.given = 2
    ),
    'fsuperseded',
    'R06: an older claim number is superseded in every status'
);
select is(
    (
        select string_agg(distinct concat(a.applied, a.reason), ' ')
        from answer as a
        where a.given = 4
    ),
    'fsuperseded',
    'so is a number that no claim has had yet'
);
select is_empty(
    $$
    select a.from_status, a.given
    from answer as a
    inner join before as b on b.run_id = a.asked_id
    where not a.applied and pg_temp.shot(a.asked_id) is distinct from b.shot
    $$,
    'R06: what does not apply changes no column'
);
select is_empty(
    $$
    select a.from_status, a.given
    from answer as a
    inner join dispatch.run as r on r.id = a.asked_id
    where (a.run_id, a.status, a.claim_no) is distinct from (r.id, r.status, 3)
    $$,
    'the answer carries the run, its status and its own claim number'
);
select is(
    (
        select count(*)
        from answer as a
        where num_nonnulls(a.retry_run_id, a.follow_up_run_id) > 0
    ),
    0::bigint,
    'there is neither retry nor follow-up'
);
select results_eq(
    $$
    select t.applied, t.run_id, t.status::text, t.claim_no, t.reason
    from dispatch.wait_run(
        dispatch_test.id(1), dispatch_test.id(99), 3, 'checkout'
    ) as t
    $$,
    $$values (false, dispatch_test.id(99), null::text, null::integer, 'not_found')$$,
    'an unknown run is not found'
);
select dispatch.put_workspace(dispatch_test.id(7), 'Elsewhere');
select is(
    (
        select string_agg(distinct t.reason, ' ')
        from place as p
        cross join lateral dispatch.wait_run(
            dispatch_test.id(7), p.run_id, 3, 'checkout'
        ) as t
    ),
    'not_found',
    'nor is a run of another workspace'
);

select * from finish();
rollback;

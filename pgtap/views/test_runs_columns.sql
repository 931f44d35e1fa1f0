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
from generate_series(1, 2) as n;

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

select is(
    (
        select array_agg(n.name order by n.ordinality)
        from unnest(string_to_array(
            'id,workspace_id,agent_id,runtime_id,issue_id,chat_session_id,autopilot_run_id,'
            'reason,payload,idempotency_key,status,priority,requested_at,fire_at,dispatched_at,'
            'lease_expires_at,started_at,finished_at,claim_no,attempt,max_attempts,'
            'parent_run_id,rerun_of_run_id,escalation_for_run_id,delegated_from_run_id,source,'
            'comment_id,lane,coalesced_count,actor_type,actor_id,originator_id,accountable_id,'
            'attribution_source,evidence_kind,evidence_id,is_leader_run,squad_id,handoff_note,'
            'force_fresh,session_id,work_dir,result,failure_reason,error,wait_reason',
            ','
        )) with ordinality as n (name, ordinality)
        left join information_schema.columns as c
            on c.table_schema = 'dispatch' and c.table_name = 'runs' and c.column_name = n.name
        where c.column_name is null
    ),
    null,
    'the view has every column that is read by name'
);
create temp table run on commit drop as
select pg_temp.wake(1) as a, pg_temp.wake(2) as b;
select is(
    (select count(*) from dispatch.runs as v), 2::bigint, 'each run is one row'
);
select count(*) from dispatch.claim_run(dispatch_test.id(1), dispatch_test.id(4));
select dispatch.wait_run(dispatch_test.id(1), (select r.a from run as r), 1, 'checkout');
select is(
    (select v.wait_reason from dispatch.runs as v where v.id = (select r.a from run as r)),
    'checkout',
    'a waiting run shows why'
);
select dispatch.start_run(dispatch_test.id(1), (select r.a from run as r), 1);
select is(
    (select v.wait_reason from dispatch.runs as v where v.id = (select r.a from run as r)),
    null,
    'no other does'
);
select is(
    dispatch_test.error_of('select v.id from dispatch.runs as v', 'dispatch_reader'), '00000',
    'a reader may read it'
);
select is(
    dispatch_test.error_of('select r.id from dispatch.run as r', 'dispatch_reader'), '42501',
    'but not the table'
);

select * from finish();
rollback;

begin;
select plan(27);

create function pg_temp.granted() returns table (role name, routine text) language sql as $fn$
select e.grantee::regrole::name, p.proname::text
from pg_proc as p
cross join lateral aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) as e
where p.pronamespace = 'dispatch'::regnamespace
    and e.privilege_type = 'EXECUTE'
    and e.grantee <> 'dispatch_owner'::regrole;
$fn$;

select is_empty(
    $$select g.routine from pg_temp.granted() as g where g.routine like '\_%'$$,
    'no private function is granted to anybody'
);
select set_eq(
    $$select p.proname::text
    from pg_proc as p
    where p.pronamespace = 'dispatch'::regnamespace
        and p.proname not like '\_%'
        and p.prorettype <> 'trigger'::regtype
        and p.proname not in (select g.routine from pg_temp.granted() as g)$$,
    array['will_enqueue_run'],
    'every public function is granted to somebody; the predicate is a private seam'
);
select is_empty(
    $$select r.rolname from pg_roles as r
    where r.rolname in (
        'dispatch_owner', 'dispatch_service', 'dispatch_worker', 'dispatch_operator',
        'dispatch_reader'
    ) and (r.rolcanlogin or r.rolsuper or r.rolcreaterole or r.rolcreatedb or r.rolbypassrls)$$,
    'the roles can nothing but hold rights'
);
select set_eq(
    $$select c.relname::text, e.grantee::regrole::text, e.privilege_type
    from pg_class as c
    cross join lateral aclexplode(c.relacl) as e
    where c.relnamespace = 'dispatch'::regnamespace and e.grantee <> c.relowner$$,
    $$select v.relname, r.role, 'SELECT'
    from (values ('runs'), ('queue_depth'), ('gate_counters')) as v (relname)
    cross join (
        values ('dispatch_service'), ('dispatch_operator'), ('dispatch_reader')
    ) as r (role)$$,
    'nobody but the owner touches a table; three roles read the views'
);

-- What each role reaches beyond the clock and the constants.
select set_eq(
    format(
        $$select g.routine from pg_temp.granted() as g
        where g.role = %L
            and g.routine not in (
                select r.routine from pg_temp.granted() as r where r.role = 'dispatch_reader'
            )$$,
        t.role
    ),
    string_to_array(t.routines, ' '), t.role || ' may do what it is for'
)
from (
    values
        (
            'dispatch_service',
            'put_workspace delete_workspace put_member remove_member put_team put_team_member '
            'remove_team_member put_runtime put_agent set_agent_status bind_agent '
            'archive_agent can_invoke_agent grant_invoke revoke_invoke put_squad '
            'archive_squad heartbeat set_runtime_offline create_issue update_issue '
            'update_issues delete_issue add_comment edit_comment delete_comment '
            'preview_create preview_update queue_wake queue_wakes read_payload cancel_run rerun'
        ),
        (
            'dispatch_worker',
            'claim_run claim_runs start_run wait_run extend_lease defer_run complete_run '
            'fail_run cancel_run requeue_run start_runs complete_runs fail_runs reclaim_runs '
            'promote_deferred recover_runtime heartbeat set_runtime_offline read_payload'
        ),
        (
            'dispatch_operator',
            'set_agent_status cancel_run reclaim_runs promote_deferred recover_runtime '
            'pause_workspace resume_workspace rerun sweep tick'
        )
) as t (role, routines);

-- The rights in use: each role's own work, and a thing that is not.
select dispatch.put_workspace(dispatch_test.id(1), 'Acme');
select dispatch.put_member(dispatch_test.id(1), dispatch_test.id(11), 'Ada');
select dispatch.put_runtime(dispatch_test.id(1), dispatch_test.id(21), 'mac');
grant usage on schema dispatch_test
to dispatch_service, dispatch_worker, dispatch_operator, dispatch_reader;
select is(dispatch_test.error_of(t.call, t.role), t.error, format('%s: %s', t.role, t.what))
from (
    values
        (
            1, 'dispatch_service',
            $$select dispatch.put_agent(
                dispatch_test.id(
                    1), dispatch_test.id(31), 'Rex', dispatch_test.id(11), dispatch_test.id(21
                )
            )$$, '00000', 'stores an agent'
        ),
        (
            2, 'dispatch_service',
            $$select d.outcome
            from dispatch.queue_wake(dispatch_test.id(1), dispatch_test.id(31), 'x') as d$$,
            '00000', 'queues a wake'
        ),
        (
            3, 'dispatch_service',
            $$select c.run_id
            from dispatch.claim_run(dispatch_test.id(1), dispatch_test.id(31)) as c$$,
            '42501', 'claims nothing'
        ),
        (
            4, 'dispatch_worker',
            $$select dispatch.heartbeat(dispatch_test.id(1), array[dispatch_test.id(21)])$$,
            '00000', 'sends a heartbeat'
        ),
        (
            5, 'dispatch_worker',
            $$select c.run_id
            from dispatch.claim_run(dispatch_test.id(1), dispatch_test.id(31)) as c$$,
            '00000', 'claims'
        ),
        (
            6, 'dispatch_worker',
            $$select d.outcome
            from dispatch.queue_wake(dispatch_test.id(1), dispatch_test.id(31), 'x') as d$$,
            '42501', 'queues nothing'
        ),
        (7, 'dispatch_worker', 'select r.id from dispatch.runs as r', '42501', 'reads no view'),
        (
            8, 'dispatch_operator',
            $$select dispatch.set_agent_status(
                dispatch_test.id(1), dispatch_test.id(31), 'paused'
            )$$,
            '00000', 'pauses an agent'
        ),
        (
            9, 'dispatch_operator', $$select dispatch.put_workspace(dispatch_test.id(3), 'A')$$,
            '42501', 'stores nothing'
        ),
        (10, 'dispatch_reader', 'select r.id from dispatch.runs as r', '00000', 'reads runs'),
        (
            11, 'dispatch_reader', 'select q.runs from dispatch.queue_depth as q', '00000',
            'reads the queue''s depth'
        ),
        (12, 'dispatch_reader', 'select dispatch.clock()', '00000', 'reads the clock'),
        (
            13, 'dispatch_reader', 'select r.id from dispatch.run as r', '42501',
            'reads no table'
        ),
        (
            14, 'dispatch_reader',
            $$select dispatch.set_agent_status(
                dispatch_test.id(1), dispatch_test.id(31), 'active'
            )$$,
            '42501', 'changes nothing'
        ),
        (
            15, 'dispatch_service', $$select dispatch._require_workspace(dispatch_test.id(1))$$,
            '42501', 'calls no private function'
        ),
        (
            16, 'dispatch_reader', 'select g.value from dispatch.gate_counters as g', '00000',
            'reads the counters of the gates'
        ),
        (
            17, 'dispatch_service',
            $$select dispatch.pause_workspace(dispatch_test.id(1), 'system', p_reason => 'x')$$,
            '42501', 'pauses no workspace'
        ),
        (
            18, 'dispatch_operator',
            $$select dispatch.pause_workspace(dispatch_test.id(1), 'system', p_reason => 'x')$$,
            '00000', 'pauses a workspace'
        ),
        (
            19, 'dispatch_operator',
            $$select dispatch.resume_workspace(dispatch_test.id(1), 'system')$$,
            '00000', 'resumes it'
        )
) as t (step, role, call, error, what)
order by t.step;
select is(
    (select r.status::text from dispatch.runs as r), 'dispatched',
    'the worker''s claim took effect'
);

select * from finish();
rollback;

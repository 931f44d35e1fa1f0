begin;
select plan(19);
create function pg_temp.id(p_number integer) returns uuid language sql as $fn$
select dispatch_test.id(p_number);
$fn$;
select dispatch_test.set_clock('2030-01-15 12:00:00+00');
select dispatch.put_workspace(pg_temp.id(1), 'Acme');
select dispatch.put_workspace(pg_temp.id(2), 'Other');
select dispatch.put_member(pg_temp.id(1), pg_temp.id(11), 'Ada');
select dispatch.put_member(pg_temp.id(1), pg_temp.id(12), 'Bob');
select dispatch.put_member(pg_temp.id(2), pg_temp.id(19), 'stranger');
select dispatch.put_runtime(pg_temp.id(1), pg_temp.id(21), 'mac');
select dispatch.put_runtime(pg_temp.id(1), pg_temp.id(22), 'mini');
select dispatch.put_runtime(pg_temp.id(2), pg_temp.id(29), 'foreign');

create function pg_temp.state() returns text language sql as $fn$
select (
    a.name, a.owner_id, a.runtime_id, a.permission, a.max_concurrent_runs, a.status,
    a.created_at
)::text
from dispatch.agent as a
where a.workspace_id = pg_temp.id(1) and a.id = pg_temp.id(31);
$fn$;

select dispatch.put_agent(pg_temp.id(1), pg_temp.id(31), 'Rex', pg_temp.id(11));
select is(
    pg_temp.state(),
    format('(Rex,%s,,private,6,active,"2030-01-15 12:00:00+00")', pg_temp.id(11)),
    'a first call makes an active, private, unbound agent of capacity 6'
);
create temporary table seen as select a.ctid as place from dispatch.agent as a;
select dispatch_test.advance_clock(interval '1 hour');
select dispatch.put_agent(pg_temp.id(1), pg_temp.id(31), 'Rex', pg_temp.id(11));
select dispatch.put_agent(
    pg_temp.id(1), pg_temp.id(31), 'Rex', pg_temp.id(11), null, 'private', 6
);
select is(
    (select a.ctid from dispatch.agent as a), (select s.place from seen as s),
    'repeating it writes nothing'
);

select dispatch.put_agent(
    pg_temp.id(1), pg_temp.id(31), 'Max', pg_temp.id(12), pg_temp.id(21),
    'public_to', 50
);
select is(
    pg_temp.state(),
    format(
        '(Max,%s,%s,public_to,50,active,"2030-01-15 12:00:00+00")',
        pg_temp.id(12), pg_temp.id(21)
    ),
    'what is given is changed'
);
select dispatch.set_agent_status(pg_temp.id(1), pg_temp.id(31), 'paused');
select dispatch.put_agent(pg_temp.id(1), pg_temp.id(31), 'Max', pg_temp.id(12));
select is(
    pg_temp.state(),
    format(
        '(Max,%s,%s,public_to,50,paused,"2030-01-15 12:00:00+00")',
        pg_temp.id(12), pg_temp.id(21)
    ),
    'what is left out is kept, the status too'
);

select is(dispatch_test.error_of(t.call), t.error, t.what)
from (
    values
        (
            $$select dispatch.put_agent(pg_temp.id(9), pg_temp.id(32), 'A', pg_temp.id(11))$$,
            'PD404 p_workspace_id', 'an unknown workspace'
        ),
        (
            $$select dispatch.put_agent(pg_temp.id(1), null, 'A', pg_temp.id(11))$$,
            'PD400 p_agent_id', 'no id'
        ),
        (
            $$select dispatch.put_agent(
                pg_temp.id(1), '00000000-0000-0000-0000-000000000000', 'A', pg_temp.id(11)
            )$$,
            'PD400 p_agent_id', 'the all-zero id'
        ),
        (
            $$select dispatch.put_agent(pg_temp.id(1), pg_temp.id(32), ' ', pg_temp.id(11))$$,
            'PD400 p_name', 'a blank name'
        ),
        (
            $$select dispatch.put_agent(
                pg_temp.id(1), pg_temp.id(32), repeat('n', 201), pg_temp.id(11)
            )$$,
            'PD400 p_name', 'a long name'
        ),
        (
            $$select dispatch.put_agent(pg_temp.id(1), pg_temp.id(32), 'A', null)$$,
            'PD400 p_owner_id', 'no owner'
        ),
        (
            $$select dispatch.put_agent(pg_temp.id(1), pg_temp.id(32), 'A', pg_temp.id(19))$$,
            'PD400 p_owner_id', 'an owner of another workspace'
        ),
        (
            $$select dispatch.put_agent(
                pg_temp.id(1), pg_temp.id(32), 'A', pg_temp.id(11),
                pg_temp.id(29)
            )$$,
            'PD404 p_runtime_id', 'a runtime of another workspace'
        ),
        (
            $$select dispatch.put_agent(
                pg_temp.id(1), pg_temp.id(32), 'A', pg_temp.id(11),
                '00000000-0000-0000-0000-000000000000'
            )$$,
            'PD400 p_runtime_id', 'the all-zero runtime'
        ),
        (
            $$select dispatch.put_agent(
                pg_temp.id(1), pg_temp.id(32), 'A', pg_temp.id(11), null, 'open'
            )$$,
            'PD400 p_permission', 'an unknown permission'
        ),
        (
            $$select dispatch.put_agent(
                pg_temp.id(1), pg_temp.id(32), 'A', pg_temp.id(11), null, null, 0
            )$$,
            'PD400 p_max_concurrent_runs', 'capacity 0'
        ),
        (
            $$select dispatch.put_agent(
                pg_temp.id(1), pg_temp.id(32), 'A', pg_temp.id(11), null, null, 51
            )$$,
            'PD400 p_max_concurrent_runs', 'capacity 51'
        )
) as t (call, error, what);
select is(
    (select count(*)::integer from dispatch.agent as a where a.id = pg_temp.id(32)), 0,
    'a refused call stores nothing'
);
select is(
    dispatch_test.error_of(
        $$select dispatch.put_agent(
            pg_temp.id(1), pg_temp.id(32), 'A', pg_temp.id(11), null, null, 1
        )$$
    ),
    '00000', 'capacity 1 is taken'
);
select dispatch.archive_agent(pg_temp.id(1), pg_temp.id(32));
select is(
    dispatch_test.error_of(
        $$select dispatch.put_agent(pg_temp.id(1), pg_temp.id(32), 'B', pg_temp.id(11))$$
    ),
    'PD409 p_agent_id', 'an archived agent is not changed'
);

select * from finish();
rollback;

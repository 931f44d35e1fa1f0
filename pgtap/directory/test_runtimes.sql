begin;
select plan(25);
create function pg_temp.id(p_number integer) returns uuid language sql as $fn$
select dispatch_test.id(p_number);
$fn$;
select dispatch_test.set_clock('2030-01-15 12:00:00+00');
select dispatch.put_workspace(pg_temp.id(1), 'Acme');
select dispatch.put_workspace(pg_temp.id(2), 'Other');
select dispatch.put_runtime(pg_temp.id(2), pg_temp.id(19), 'foreign');

create function pg_temp.state(p_id integer) returns text language sql as $fn$
select (r.daemon_id, r.name, r.status, r.last_seen_at, r.offline_reason, r.updated_at)::text
from dispatch.runtime as r
where r.id = pg_temp.id(p_id);
$fn$;
create function pg_temp.place(p_id integer) returns tid language sql as $fn$
select r.ctid from dispatch.runtime as r where r.id = pg_temp.id(p_id);
$fn$;

select dispatch.put_runtime(pg_temp.id(1), pg_temp.id(11), 'mac');
select is(
    pg_temp.state(11), '(mac,mac,offline,,,"2030-01-15 12:00:00+00")',
    'a first call makes an offline runtime with the name of its daemon'
);
create temporary table seen as select pg_temp.place(11) as place;
select dispatch_test.set_clock('2030-01-15 12:01:00+00');
select dispatch.put_runtime(pg_temp.id(1), pg_temp.id(11), 'mac');
select is(pg_temp.place(11), (select s.place from seen as s), 'repeating it writes nothing');

select is(
    dispatch.heartbeat(
        pg_temp.id(1),
        array[
            pg_temp.id(12), pg_temp.id(11), pg_temp.id(11), pg_temp.id(19),
            '00000000-0000-0000-0000-000000000000', null
        ]
    ),
    1, 'a heartbeat counts the known ones, each once'
);
select is(
    pg_temp.state(11), '(mac,mac,online,"2030-01-15 12:01:00+00",,"2030-01-15 12:01:00+00")',
    'and makes them online'
);
select is(
    pg_temp.state(19), '(foreign,foreign,offline,,,"2030-01-15 12:00:00+00")',
    'a runtime of another workspace stays offline'
);
select is(dispatch.heartbeat(pg_temp.id(1), '{}'), 0, 'no runtimes are no error');

select dispatch_test.set_clock('2030-01-15 12:02:00+00');
select dispatch.put_runtime(pg_temp.id(1), pg_temp.id(11), 'mac', 'Codex');
select dispatch.put_runtime(pg_temp.id(1), pg_temp.id(11), 'mini');
select is(
    pg_temp.state(11), '(mini,Codex,online,"2030-01-15 12:01:00+00",,"2030-01-15 12:02:00+00")',
    'another daemon and name are stored, a name left out is kept, the status stays'
);

select dispatch_test.set_clock('2030-01-15 12:03:00+00');
select dispatch.set_runtime_offline(pg_temp.id(1), pg_temp.id(11), 'not_executable');
select is(
    pg_temp.state(11),
    '(mini,Codex,offline,"2030-01-15 12:01:00+00",not_executable,"2030-01-15 12:03:00+00")',
    'a runtime is set offline with its reason'
);
truncate seen;
insert into seen select pg_temp.place(11);
select dispatch_test.set_clock('2030-01-15 12:04:00+00');
select dispatch.set_runtime_offline(pg_temp.id(1), pg_temp.id(11));
select dispatch.set_runtime_offline(pg_temp.id(1), pg_temp.id(11), 'not_executable');
select is(
    pg_temp.place(11), (select s.place from seen as s),
    'repeating it, or leaving the reason out, writes nothing'
);
select dispatch.set_runtime_offline(pg_temp.id(1), pg_temp.id(11), 'lid closed');
select is(
    pg_temp.state(11),
    '(mini,Codex,offline,"2030-01-15 12:01:00+00","lid closed","2030-01-15 12:04:00+00")',
    'another reason is stored'
);
select dispatch.heartbeat(pg_temp.id(1), array[pg_temp.id(11)]);
select is(
    pg_temp.state(11), '(mini,Codex,online,"2030-01-15 12:04:00+00",,"2030-01-15 12:04:00+00")',
    'the next heartbeat forgets it'
);
select dispatch.set_runtime_offline(pg_temp.id(1), pg_temp.id(11));
select is(
    pg_temp.state(11),
    '(mini,Codex,offline,"2030-01-15 12:04:00+00",,"2030-01-15 12:04:00+00")',
    'no reason is needed'
);

select is(dispatch_test.error_of(t.call), t.error, t.what)
from (
    values
        (
            $$select dispatch.put_runtime(pg_temp.id(1), null, 'd')$$,
            'PD400 p_runtime_id', 'put_runtime: no id'
        ),
        (
            $$select dispatch.put_runtime(
                pg_temp.id(1), '00000000-0000-0000-0000-000000000000', 'd'
            )$$,
            'PD400 p_runtime_id', 'put_runtime: the all-zero id'
        ),
        (
            $$select dispatch.put_runtime(pg_temp.id(1), pg_temp.id(13), null)$$,
            'PD400 p_daemon_id', 'put_runtime: no daemon'
        ),
        (
            $$select dispatch.put_runtime(pg_temp.id(1), pg_temp.id(13), repeat('d', 201))$$,
            'PD400 p_daemon_id', 'put_runtime: a long daemon'
        ),
        (
            $$select dispatch.put_runtime(pg_temp.id(1), pg_temp.id(13), 'd', ' ')$$,
            'PD400 p_name', 'put_runtime: a blank name'
        ),
        (
            $$select dispatch.put_runtime(pg_temp.id(9), pg_temp.id(13), 'd')$$,
            'PD404 p_workspace_id', 'put_runtime: an unknown workspace'
        ),
        (
            $$select dispatch.heartbeat(pg_temp.id(1), null)$$,
            'PD400 p_runtime_ids', 'heartbeat: no array'
        ),
        (
            $$select dispatch.heartbeat(pg_temp.id(9), '{}')$$,
            'PD404 p_workspace_id', 'heartbeat: an unknown workspace'
        ),
        (
            $$select dispatch.heartbeat(null, '{}')$$,
            'PD400 p_workspace_id', 'heartbeat: no workspace'
        ),
        (
            $$select dispatch.set_runtime_offline(pg_temp.id(1), pg_temp.id(19))$$,
            'PD404 p_runtime_id', 'set_runtime_offline: a runtime of another workspace'
        ),
        (
            $$select dispatch.set_runtime_offline(pg_temp.id(1), null)$$,
            'PD400 p_runtime_id', 'set_runtime_offline: no id'
        ),
        (
            $$select dispatch.set_runtime_offline(
                pg_temp.id(1), pg_temp.id(11), repeat('r', 101)
            )$$,
            'PD400 p_reason', 'set_runtime_offline: a long reason'
        ),
        (
            $$select dispatch.set_runtime_offline(pg_temp.id(9), pg_temp.id(11))$$,
            'PD404 p_workspace_id', 'set_runtime_offline: an unknown workspace'
        )
) as t (call, error, what);

select * from finish();
rollback;

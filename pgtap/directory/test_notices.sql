begin;
select plan(13);
create function pg_temp.id(p_number integer) returns uuid language sql as $fn$
select dispatch_test.id(p_number);
$fn$;
select dispatch.put_workspace(pg_temp.id(1), 'Acme');
select dispatch.put_member(pg_temp.id(1), pg_temp.id(11), 'Ada');
select dispatch.put_runtime(pg_temp.id(1), pg_temp.id(21), 'mac');
select dispatch.put_runtime(pg_temp.id(1), pg_temp.id(22), 'mini');
select dispatch.put_agent(
    pg_temp.id(1), pg_temp.id(31), 'Rex', pg_temp.id(11), pg_temp.id(21)
);

-- A notice is only heard on commit, so the function that sends them writes them down instead.
create table dispatch_test.sent (runtime_id uuid);
grant usage on schema dispatch_test to dispatch_owner;
grant insert on dispatch_test.sent to dispatch_owner;
create or replace function dispatch._notify_runtimes(p_runtime_ids uuid[])
returns void
language sql
volatile
as $fn$
insert into dispatch_test.sent (runtime_id) select unnest(p_runtime_ids);
$fn$;
create function pg_temp.heard(p_call text) returns text language plpgsql as $fn$
begin
    delete from dispatch_test.sent;
    execute 'select dispatch.' || p_call;
    return (select string_agg(right(s.runtime_id::text, 2), ',') from dispatch_test.sent as s);
end;
$fn$;

select is(
    pg_temp.heard(t.call), t.runtimes,
    format('%s: %s', t.what, coalesce('runtime ' || t.runtimes || ' is told', 'nobody is told'))
)
from (
    values
        (1, $$set_agent_status(pg_temp.id(1), pg_temp.id(31), 'paused')$$, null, 'pausing'),
        (2, $$set_agent_status(pg_temp.id(1), pg_temp.id(31), 'active')$$, '21', 'activation'),
        (
            3, $$set_agent_status(pg_temp.id(1), pg_temp.id(31), 'active')$$, null,
            'activation again'
        ),
        (
            4,
            $$put_agent(pg_temp.id(1), pg_temp.id(31), 'Rex', pg_temp.id(11), null, null, 7)$$,
            '21', 'more capacity'
        ),
        (
            5,
            $$put_agent(pg_temp.id(1), pg_temp.id(31), 'Rex', pg_temp.id(11), null, null, 7)$$,
            null, 'the same capacity'
        ),
        (
            6,
            $$put_agent(pg_temp.id(1), pg_temp.id(31), 'Rex', pg_temp.id(11), null, null, 3)$$,
            null, 'less capacity'
        ),
        (
            7,
            $$put_agent(pg_temp.id(1), pg_temp.id(31), 'Rex', pg_temp.id(11), pg_temp.id(22))$$,
            '22', 'another runtime by put_agent'
        ),
        (
            8, $$bind_agent(pg_temp.id(1), pg_temp.id(31), pg_temp.id(21))$$, '21',
            'another runtime by bind_agent'
        ),
        (
            9, $$bind_agent(pg_temp.id(1), pg_temp.id(31), pg_temp.id(21))$$, null,
            'the same runtime'
        ),
        (10, $$bind_agent(pg_temp.id(1), pg_temp.id(31), null)$$, null, 'unbinding'),
        (
            11,
            $$put_agent(pg_temp.id(1), pg_temp.id(31), 'Rex', pg_temp.id(11), null, null, 9)$$,
            null, 'more capacity without a runtime'
        ),
        (12, $$heartbeat(pg_temp.id(1), array[pg_temp.id(21)])$$, null, 'a heartbeat'),
        (13, $$set_runtime_offline(pg_temp.id(1), pg_temp.id(21))$$, null, 'going offline')
) as t (step, call, runtimes, what)
order by t.step;

select * from finish();
rollback;

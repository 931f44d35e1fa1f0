begin;
select plan(12);
create function pg_temp.id(p_number integer) returns uuid language sql as $fn$
select dispatch_test.id(p_number);
$fn$;
select dispatch.put_workspace(pg_temp.id(1), 'Acme');
select dispatch.put_workspace(pg_temp.id(2), 'Other');
select dispatch.put_member(pg_temp.id(1), pg_temp.id(11), 'Ada');
select dispatch.put_agent(pg_temp.id(1), pg_temp.id(31), 'Rex', pg_temp.id(11));
select dispatch.put_agent(pg_temp.id(1), pg_temp.id(32), 'Old', pg_temp.id(11));
select dispatch.archive_agent(pg_temp.id(1), pg_temp.id(32));

create function pg_temp.after(p_status text) returns text language plpgsql as $fn$
begin
    perform dispatch.set_agent_status(pg_temp.id(1), pg_temp.id(31), p_status);
    return (select a.status from dispatch.agent as a where a.id = pg_temp.id(31));
end;
$fn$;
select is(pg_temp.after(t.status), t.status, 'an agent is set to ' || t.status)
from (values ('paused'), ('stopped'), ('pending_approval'), ('active')) as t (status);

create temporary table seen as
select a.ctid as place from dispatch.agent as a where a.id = pg_temp.id(31);
select dispatch.set_agent_status(pg_temp.id(1), pg_temp.id(31), 'active');
select is(
    (select a.ctid from dispatch.agent as a where a.id = pg_temp.id(31)),
    (select s.place from seen as s), 'repeating it writes nothing'
);

select is(dispatch_test.error_of(t.call), t.error, t.what)
from (
    values
        (
            $$select dispatch.set_agent_status(pg_temp.id(1), pg_temp.id(31), 'idle')$$,
            'PD400 p_status', 'an unknown status'
        ),
        (
            $$select dispatch.set_agent_status(pg_temp.id(1), pg_temp.id(31), null)$$,
            'PD400 p_status', 'no status'
        ),
        (
            $$select dispatch.set_agent_status(pg_temp.id(1), pg_temp.id(31), 'archived')$$,
            'PD400 p_status', 'archived is no status'
        ),
        (
            $$select dispatch.set_agent_status(pg_temp.id(1), null, 'active')$$,
            'PD400 p_agent_id', 'no agent'
        ),
        (
            $$select dispatch.set_agent_status(pg_temp.id(2), pg_temp.id(31), 'active')$$,
            'PD404 p_agent_id', 'an agent of another workspace'
        ),
        (
            $$select dispatch.set_agent_status(pg_temp.id(9), pg_temp.id(31), 'active')$$,
            'PD404 p_workspace_id', 'an unknown workspace'
        ),
        (
            $$select dispatch.set_agent_status(pg_temp.id(1), pg_temp.id(32), 'active')$$,
            'PD409 p_agent_id', 'an archived agent'
        )
) as t (call, error, what);

select * from finish();
rollback;

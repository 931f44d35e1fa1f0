begin;
select plan(19);
create function pg_temp.id(p_number integer) returns uuid language sql as $fn$
select dispatch_test.id(p_number);
$fn$;
select dispatch_test.set_clock('2030-01-15 12:00:00+00');

-- Two workspaces with the same things in them; 1 is deleted, 2 must stay whole.
create function pg_temp.furnish(p_ws integer, p_base integer)
returns void
language plpgsql
as $fn$
declare
    v_ws constant uuid := pg_temp.id(p_ws);
    v_owner constant uuid := pg_temp.id(p_base + 1);
    v_agent constant uuid := pg_temp.id(p_base + 5);
    v_issue constant uuid := pg_temp.id(p_base + 20);
begin
    perform dispatch.put_workspace(v_ws, 'Acme');
    perform dispatch.put_member(v_ws, v_owner, 'owner', 'owner');
    perform dispatch.put_member(v_ws, pg_temp.id(p_base + 2), 'admin', 'admin');
    perform dispatch.put_member(v_ws, pg_temp.id(p_base + 3), 'member');
    perform dispatch.put_team(v_ws, pg_temp.id(p_base + 4), 'team');
    perform dispatch.put_team_member(v_ws, pg_temp.id(p_base + 4), v_owner);
    perform dispatch.put_runtime(v_ws, pg_temp.id(p_base + 6), 'daemon');
    perform dispatch.heartbeat(v_ws, array[pg_temp.id(p_base + 6)]);
    perform dispatch.put_agent(v_ws, v_agent, 'agent', v_owner, pg_temp.id(p_base + 6));
    perform dispatch.grant_invoke(v_ws, v_agent, 'team', pg_temp.id(p_base + 4));
    perform dispatch.put_squad(v_ws, pg_temp.id(p_base + 7), 'squad', v_agent);
    -- One run each: completed, running, queued on an issue, deferred.
    perform dispatch.queue_wake(v_ws, v_agent, 'poke');
    perform dispatch.queue_wake(v_ws, v_agent, 'poke');
    perform dispatch.claim_runs(v_ws, array[pg_temp.id(p_base + 6)], 1, 1, true);
    perform dispatch.complete_run(v_ws, r.id, r.claim_no)
    from dispatch.run as r
    where r.workspace_id = v_ws and r.status = 'running';
    perform dispatch.claim_runs(v_ws, array[pg_temp.id(p_base + 6)], 1, 1, true);
    perform dispatch.create_issue(
        v_ws, 'issue', 'user', v_owner, p_assignee_type => 'agent', p_assignee_id => v_agent,
        p_issue_id => v_issue
    );
    perform dispatch.create_issue(v_ws, 'child', 'system', p_parent_id => v_issue);
    perform dispatch.queue_wake(v_ws, v_agent, 'poke', p_issue_id => v_issue);
    perform dispatch.queue_wake(
        v_ws, v_agent, 'poke', p_fire_at => dispatch.clock() + interval '1 hour'
    );
    insert into dispatch.comment (
        workspace_id, id, issue_id, author_type, body, created_at, updated_at
    )
    values (
        v_ws, pg_temp.id(p_base + 30), v_issue, 'system', 'b', dispatch.clock(),
        dispatch.clock()
    );
    insert into dispatch.workspace_pause (
        workspace_id, id, reason, paused_at, paused_by_type, released_at
    )
    values (v_ws, pg_temp.id(p_base + 31), 'why', dispatch.clock(), 'system', dispatch.clock());
    insert into dispatch.deferred_assignment (
        workspace_id, issue_id, agent_id, assignment_generation, actor_type, created_at
    )
    values (v_ws, v_issue, v_agent, 1, 'system', dispatch.clock());
    insert into dispatch.gate_event (workspace_id, id, at, metric, reason)
    values (v_ws, pg_temp.id(p_base + 32), dispatch.clock(), 'refused', 'paused');
    insert into dispatch.gate_total (workspace_id, metric, reason, value)
    values (v_ws, 'refused', 'paused', 3);
end;
$fn$;
select pg_temp.furnish(1, 100);
select pg_temp.furnish(2, 200);

-- How many rows of a workspace each tenant table holds.
create function pg_temp.rows_of(p_ws uuid)
returns table (relation text, n bigint)
language plpgsql
as $fn$
begin
    for relation in
        select c.relname
        from pg_class as c
        where c.relnamespace = 'dispatch'::regnamespace and c.relkind = 'r'
        order by c.relname
    loop
        execute format(
            'select count(*) from dispatch.%I as t where t.%I = $1',
            relation, case relation when 'workspace' then 'id' else 'workspace_id' end
        ) into n using p_ws;
        return next;
    end loop;
end;
$fn$;
-- The owner of 2 is a plain member of 1, and an agent of 1 has the id of its owner.
select dispatch.put_member(pg_temp.id(1), pg_temp.id(201), 'guest');
select dispatch.put_agent(pg_temp.id(1), pg_temp.id(101), 'namesake', pg_temp.id(101));
create temporary table kept as select r.relation, r.n from pg_temp.rows_of(pg_temp.id(2)) as r;
select is_empty(
    $$select r.relation from pg_temp.rows_of(pg_temp.id(1)) as r where r.n = 0$$,
    'the workspace has rows in every table'
);

select is(dispatch_test.error_of(t.call), t.error, t.what)
from (
    values
        (
            $$select dispatch.delete_workspace(pg_temp.id(9), 'system')$$,
            'PD404 p_workspace_id', 'an unknown workspace'
        ),
        ($$select dispatch.delete_workspace(null, 'system')$$, 'PD400 p_workspace_id', 'no id'),
        (
            $$select dispatch.delete_workspace(
                '00000000-0000-0000-0000-000000000000', 'system'
            )$$,
            'PD400 p_workspace_id', 'the all-zero id'
        ),
        (
            $$select dispatch.delete_workspace(pg_temp.id(1), 'robot')$$,
            'PD400 p_actor_type', 'an unknown kind of actor'
        ),
        (
            $$select dispatch.delete_workspace(pg_temp.id(1), null)$$,
            'PD400 p_actor_type', 'no kind of actor'
        ),
        (
            $$select dispatch.delete_workspace(pg_temp.id(1), 'user', pg_temp.id(103))$$,
            'PD403 p_actor_id', 'a plain member may not'
        ),
        (
            $$select dispatch.delete_workspace(pg_temp.id(1), 'user', pg_temp.id(201))$$,
            'PD403 p_actor_id', 'a member who owns another workspace may not'
        ),
        (
            $$select dispatch.delete_workspace(pg_temp.id(1), 'user')$$,
            'PD403 p_actor_id', 'a user without an id may not'
        ),
        (
            $$select dispatch.delete_workspace(pg_temp.id(1), 'agent', pg_temp.id(105))$$,
            'PD403 p_actor_id', 'an agent may not'
        ),
        (
            $$select dispatch.delete_workspace(pg_temp.id(1), 'agent', pg_temp.id(101))$$,
            'PD403 p_actor_id', 'an agent with the id of the owner may not'
        ),
        (
            $$select dispatch.delete_workspace(pg_temp.id(1), 'user', pg_temp.id(202))$$,
            'PD403 p_actor_id', 'an admin of another workspace may not'
        )
) as t (call, error, what);

savepoint whole;  -- noqa: PRS
select is(
    dispatch.delete_workspace(pg_temp.id(1), 'user', pg_temp.id(102)), 3,
    'an admin may; the answer counts the unfinished runs'
);
rollback to savepoint whole;
select is(
    dispatch.delete_workspace(pg_temp.id(1), 'system'), 3,
    'the system may'
);
rollback to savepoint whole;
select is(
    dispatch.delete_workspace(pg_temp.id(1), 'user', pg_temp.id(101)), 3,
    'an owner may'
);
select is_empty(
    $$select r.relation, r.n from pg_temp.rows_of(pg_temp.id(1)) as r where r.n > 0$$,
    'nothing of it is left'
);
select results_eq(
    $$select r.relation, r.n from pg_temp.rows_of(pg_temp.id(2)) as r$$,
    $$select k.relation, k.n from kept as k$$,
    'the other workspace is whole'
);
select is(
    dispatch_test.error_of($$select dispatch.delete_workspace(pg_temp.id(1), 'system')$$),
    'PD404 p_workspace_id', 'it is gone'
);
select is(
    dispatch_test.error_of($$select dispatch.put_workspace(pg_temp.id(1), 'again')$$),
    '00000', 'its id may be used again'
);

select * from finish();
rollback;

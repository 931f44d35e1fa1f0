begin;
select plan(31);
create function pg_temp.id(p_number integer) returns uuid language sql as $fn$
select dispatch_test.id(p_number);
$fn$;
select dispatch_test.set_clock('2030-01-15 12:00:00+00');
select dispatch.put_workspace(pg_temp.id(1), 'Acme');
select dispatch.put_workspace(pg_temp.id(2), 'Other');
select dispatch.put_member(pg_temp.id(2), pg_temp.id(19), 'stranger');
select dispatch.put_team(pg_temp.id(2), pg_temp.id(29), 'foreign team');

select dispatch.put_member(pg_temp.id(1), pg_temp.id(11), 'Ada');
select is(
    (
        select (m.name, m.role, m.created_at)::text from dispatch.member as m
        where m.workspace_id = pg_temp.id(1) and m.user_id = pg_temp.id(11)
    ),
    '(Ada,member,"2030-01-15 12:00:00+00")', 'a first call makes a plain member'
);
select dispatch_test.advance_clock(interval '1 hour');
create temporary table seen as
select m.ctid as place from dispatch.member as m where m.name = 'Ada';
select dispatch.put_member(pg_temp.id(1), pg_temp.id(11), 'Ada');
select is(
    (select m.ctid from dispatch.member as m where m.name = 'Ada'),
    (select s.place from seen as s),
    'repeating it writes nothing'
);
select dispatch.put_member(pg_temp.id(1), pg_temp.id(11), 'Ada', 'admin');
select dispatch.put_member(pg_temp.id(1), pg_temp.id(11), 'Ada L.');
select is(
    (
        select (m.name, m.role, m.created_at)::text from dispatch.member as m
        where m.workspace_id = pg_temp.id(1) and m.user_id = pg_temp.id(11)
    ),
    '("Ada L.",admin,"2030-01-15 12:00:00+00")', 'a role left out is kept'
);

select dispatch.put_team(pg_temp.id(1), pg_temp.id(21), 'Core');
create temporary table team_seen as
select t.ctid as place from dispatch.team as t where t.name = 'Core';
select dispatch.put_team(pg_temp.id(1), pg_temp.id(21), 'Core');
select is(
    (select t.ctid from dispatch.team as t where t.name = 'Core'),
    (select s.place from team_seen as s), 'repeating a team writes nothing'
);
select dispatch.put_team(pg_temp.id(1), pg_temp.id(21), 'Kernel');
select is(
    (select t.name from dispatch.team as t where t.id = pg_temp.id(21)), 'Kernel',
    'a team is renamed'
);

create function pg_temp.in_teams() returns bigint language sql as $fn$
select count(*) from dispatch.team_member as t where t.user_id = pg_temp.id(11);
$fn$;
select dispatch.put_team_member(pg_temp.id(1), pg_temp.id(21), pg_temp.id(11));
select dispatch.put_team_member(pg_temp.id(1), pg_temp.id(21), pg_temp.id(11));
select is(pg_temp.in_teams(), 1::bigint, 'somebody is in a team once');
select dispatch.remove_team_member(pg_temp.id(1), pg_temp.id(21), pg_temp.id(12));
select dispatch.remove_team_member(pg_temp.id(1), pg_temp.id(22), pg_temp.id(11));
select is(pg_temp.in_teams(), 1::bigint, 'removing somebody absent changes nothing');
select dispatch.remove_team_member(pg_temp.id(1), pg_temp.id(21), pg_temp.id(11));
select is(pg_temp.in_teams(), 0::bigint, 'somebody is taken out of a team');

-- Removal: memberships and grants go, agents stay without an owner.
select dispatch.put_team_member(pg_temp.id(1), pg_temp.id(21), pg_temp.id(11));
select dispatch.put_member(pg_temp.id(1), pg_temp.id(12), 'Bob');
select dispatch.put_agent(pg_temp.id(1), pg_temp.id(31), 'hers', pg_temp.id(11));
select dispatch.put_agent(pg_temp.id(1), pg_temp.id(32), 'his', pg_temp.id(12));
select dispatch.grant_invoke(pg_temp.id(1), pg_temp.id(32), 'member', pg_temp.id(11));
select dispatch.grant_invoke(pg_temp.id(1), pg_temp.id(32), 'member', pg_temp.id(12));
select dispatch.grant_invoke(pg_temp.id(1), pg_temp.id(32), 'workspace');
select dispatch.remove_member(pg_temp.id(1), pg_temp.id(11));
select is(
    (select count(*)::integer from dispatch.member as m where m.user_id = pg_temp.id(11)), 0,
    'the member is gone'
);
select is(pg_temp.in_teams(), 0::bigint, 'so are the team memberships');
select results_eq(
    'select g.target_type, g.target_id from dispatch.agent_grant as g order by 1',
    $$values ('member', pg_temp.id(12)), ('workspace', pg_temp.id(1))$$,
    'and the grants to them, no other'
);
select results_eq(
    'select a.name, a.owner_id from dispatch.agent as a order by a.id',
    $$values ('hers', null::uuid), ('his', pg_temp.id(12))$$,
    'an agent that they owned stays, without an owner'
);

select is(dispatch_test.error_of(t.call), t.error, t.what)
from (
    values
        (
            $$select dispatch.put_member(pg_temp.id(1), null, 'A')$$,
            'PD400 p_user_id', 'put_member: no user'
        ),
        (
            $$select dispatch.put_member(
                pg_temp.id(1), '00000000-0000-0000-0000-000000000000', 'A'
            )$$,
            'PD400 p_user_id', 'put_member: the all-zero user'
        ),
        (
            $$select dispatch.put_member(pg_temp.id(1), pg_temp.id(13), '')$$,
            'PD400 p_name', 'put_member: no name'
        ),
        (
            $$select dispatch.put_member(pg_temp.id(1), pg_temp.id(13), repeat('a', 201))$$,
            'PD400 p_name', 'put_member: a long name'
        ),
        (
            $$select dispatch.put_member(pg_temp.id(1), pg_temp.id(13), 'A', 'boss')$$,
            'PD400 p_role', 'put_member: an unknown role'
        ),
        (
            $$select dispatch.put_member(pg_temp.id(9), pg_temp.id(13), 'A')$$,
            'PD404 p_workspace_id', 'put_member: an unknown workspace'
        ),
        (
            $$select dispatch.remove_member(pg_temp.id(1), pg_temp.id(19))$$,
            'PD404 p_user_id', 'remove_member: a member of another workspace'
        ),
        (
            $$select dispatch.remove_member(pg_temp.id(1), pg_temp.id(11))$$,
            'PD404 p_user_id', 'remove_member: somebody removed already'
        ),
        (
            $$select dispatch.remove_member(pg_temp.id(1), null)$$,
            'PD400 p_user_id', 'remove_member: no user'
        ),
        (
            $$select dispatch.put_team(pg_temp.id(1), null, 'A')$$,
            'PD400 p_team_id', 'put_team: no id'
        ),
        (
            $$select dispatch.put_team(pg_temp.id(1), pg_temp.id(22), null)$$,
            'PD400 p_name', 'put_team: no name'
        ),
        (
            $$select dispatch.put_team(pg_temp.id(9), pg_temp.id(22), 'A')$$,
            'PD404 p_workspace_id', 'put_team: an unknown workspace'
        ),
        (
            $$select dispatch.put_team_member(
                pg_temp.id(1), pg_temp.id(29), pg_temp.id(12)
            )$$,
            'PD404 p_team_id', 'put_team_member: a team of another workspace'
        ),
        (
            $$select dispatch.put_team_member(
                pg_temp.id(1), pg_temp.id(21), pg_temp.id(19)
            )$$,
            'PD404 p_user_id', 'put_team_member: a member of another workspace'
        ),
        (
            $$select dispatch.put_team_member(pg_temp.id(1), null, pg_temp.id(12))$$,
            'PD400 p_team_id', 'put_team_member: no team'
        ),
        (
            $$select dispatch.put_team_member(pg_temp.id(1), pg_temp.id(21), null)$$,
            'PD400 p_user_id', 'put_team_member: no user'
        ),
        (
            $$select dispatch.remove_team_member(pg_temp.id(1), pg_temp.id(21), null)$$,
            'PD400 p_user_id', 'remove_team_member: no user'
        ),
        (
            $$select dispatch.remove_team_member(
                pg_temp.id(9), pg_temp.id(21), pg_temp.id(12)
            )$$,
            'PD404 p_workspace_id', 'remove_team_member: an unknown workspace'
        )
) as t (call, error, what);
select is(
    (select count(*)::integer from dispatch.member as m where m.user_id = pg_temp.id(13)), 0,
    'a refused call stores nothing'
);

select * from finish();
rollback;

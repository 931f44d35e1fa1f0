begin;
select plan(32);
create function pg_temp.id(p_number integer) returns uuid language sql as $fn$
select dispatch_test.id(p_number);
$fn$;
select dispatch_test.set_clock('2030-01-15 12:00:00+00');
select dispatch.put_workspace(pg_temp.id(1), 'Acme');
select dispatch.put_workspace(pg_temp.id(2), 'Other');
select dispatch.put_member(pg_temp.id(1), pg_temp.id(11), 'Ada');
select dispatch.put_member(pg_temp.id(2), pg_temp.id(19), 'stranger');
select dispatch.put_team(pg_temp.id(1), pg_temp.id(21), 'Core');
select dispatch.put_team(pg_temp.id(2), pg_temp.id(29), 'foreign');
select dispatch.put_agent(pg_temp.id(1), pg_temp.id(31), 'Rex', pg_temp.id(11));
select dispatch.put_agent(pg_temp.id(1), pg_temp.id(32), 'Max', pg_temp.id(11));
select dispatch.put_agent(pg_temp.id(1), pg_temp.id(33), 'Old', pg_temp.id(11));
select dispatch.put_agent(pg_temp.id(2), pg_temp.id(39), 'foreign', pg_temp.id(19));
select dispatch.archive_agent(pg_temp.id(1), pg_temp.id(33));

create function pg_temp.grants() returns text language sql as $fn$
select string_agg(
    format('%s %s', g.target_type, right(g.target_id::text, 2)), ', ' order by g.target_type
)
from dispatch.agent_grant as g;
$fn$;
select dispatch.grant_invoke(pg_temp.id(1), pg_temp.id(31), 'workspace');
select dispatch.grant_invoke(pg_temp.id(1), pg_temp.id(31), 'workspace', pg_temp.id(1));
select dispatch.grant_invoke(pg_temp.id(1), pg_temp.id(31), 'member', pg_temp.id(11));
select dispatch.grant_invoke(pg_temp.id(1), pg_temp.id(31), 'member', pg_temp.id(11));
select dispatch.grant_invoke(pg_temp.id(1), pg_temp.id(31), 'team', pg_temp.id(21));
select is(
    pg_temp.grants(), 'member 11, team 21, workspace 01',
    'grants are stored once, a workspace grant under the workspace''s own id'
);
select dispatch.revoke_invoke(pg_temp.id(1), pg_temp.id(31), 'member', pg_temp.id(12));
select dispatch.revoke_invoke(pg_temp.id(1), pg_temp.id(31), 'team', pg_temp.id(11));
select dispatch.revoke_invoke(pg_temp.id(1), pg_temp.id(32), 'workspace');
select dispatch.revoke_invoke(pg_temp.id(1), pg_temp.id(40), 'workspace');
select dispatch.revoke_invoke(pg_temp.id(2), pg_temp.id(31), 'workspace');
select is(
    pg_temp.grants(), 'member 11, team 21, workspace 01',
    'revoking what is absent changes nothing'
);
select dispatch.revoke_invoke(pg_temp.id(1), pg_temp.id(31), 'member', pg_temp.id(11));
select is(pg_temp.grants(), 'team 21, workspace 01', 'a member''s grant is revoked');
select dispatch.revoke_invoke(pg_temp.id(1), pg_temp.id(31), 'workspace');
select is(pg_temp.grants(), 'team 21', 'a workspace''s grant is revoked without its id');
select dispatch.put_agent(pg_temp.id(2), pg_temp.id(31), 'namesake', pg_temp.id(19));
select dispatch.grant_invoke(pg_temp.id(2), pg_temp.id(31), 'member', pg_temp.id(19));
select dispatch.revoke_invoke(pg_temp.id(1), pg_temp.id(31), 'member', pg_temp.id(19));
select is(
    pg_temp.grants(), 'member 19, team 21',
    'a grant on an agent of the same id in another workspace stays'
);

select is(
    dispatch_test.error_of(format('select dispatch.%s_invoke(%s)', t.verb, t.arguments)),
    t.error, format('%s: %s', t.verb, t.what)
)
from (
    values
        (
            'grant', $$pg_temp.id(9), pg_temp.id(31), 'workspace'$$, 'PD404 p_workspace_id',
            'an unknown workspace'
        ),
        (
            'revoke', $$pg_temp.id(9), pg_temp.id(31), 'workspace'$$, 'PD404 p_workspace_id',
            'an unknown workspace'
        ),
        ('grant', $$pg_temp.id(1), null, 'workspace'$$, 'PD400 p_agent_id', 'no agent'),
        ('revoke', $$pg_temp.id(1), null, 'workspace'$$, 'PD400 p_agent_id', 'no agent'),
        (
            'grant', $$pg_temp.id(1), pg_temp.id(39), 'workspace'$$, 'PD404 p_agent_id',
            'an agent of another workspace'
        ),
        (
            'grant', $$pg_temp.id(1), pg_temp.id(31), 'squad', pg_temp.id(11)$$,
            'PD400 p_target_type', 'an unknown kind'
        ),
        ('revoke', $$pg_temp.id(1), pg_temp.id(31), null$$, 'PD400 p_target_type', 'no kind'),
        (
            'grant', $$pg_temp.id(1), pg_temp.id(31), 'member'$$, 'PD400 p_target_id',
            'no member'
        ),
        ('grant', $$pg_temp.id(1), pg_temp.id(31), 'team'$$, 'PD400 p_target_id', 'no team'),
        ('revoke', $$pg_temp.id(1), pg_temp.id(31), 'team'$$, 'PD400 p_target_id', 'no team'),
        (
            'grant',
            $$pg_temp.id(1), pg_temp.id(31), 'member', '00000000-0000-0000-0000-000000000000'$$,
            'PD400 p_target_id', 'the all-zero member'
        ),
        (
            'grant', $$pg_temp.id(1), pg_temp.id(31), 'member', pg_temp.id(19)$$,
            'PD404 p_target_id', 'a member of another workspace'
        ),
        (
            'grant', $$pg_temp.id(1), pg_temp.id(31), 'team', pg_temp.id(29)$$,
            'PD404 p_target_id', 'a team of another workspace'
        ),
        (
            'grant', $$pg_temp.id(1), pg_temp.id(31), 'workspace', pg_temp.id(2)$$,
            'PD404 p_target_id', 'another workspace'
        )
) as t (verb, arguments, error, what);

create function pg_temp.squad() returns text language sql as $fn$
select (s.name, right(s.leader_id::text, 2), s.archived_at)::text
from dispatch.squad as s
where s.id = pg_temp.id(41);
$fn$;
select dispatch.put_squad(pg_temp.id(1), pg_temp.id(41), 'Blue', pg_temp.id(31));
create temporary table seen as select s.ctid as place from dispatch.squad as s;
select dispatch_test.set_clock('2030-01-15 12:01:00+00');
select dispatch.put_squad(pg_temp.id(1), pg_temp.id(41), 'Blue', pg_temp.id(31));
select is(
    (select s.ctid from dispatch.squad as s), (select s.place from seen as s),
    'repeating a squad writes nothing'
);
select dispatch.put_squad(pg_temp.id(1), pg_temp.id(41), 'Red', pg_temp.id(32));
select is(pg_temp.squad(), '(Red,32,)', 'a squad gets another name and leader');

select is(
    dispatch_test.error_of(format('select dispatch.put_squad(%s)', t.arguments)), t.error,
    'put_squad: ' || t.what
)
from (
    values
        (
            $$pg_temp.id(9), pg_temp.id(42), 'A', pg_temp.id(31)$$, 'PD404 p_workspace_id',
            'an unknown workspace'
        ),
        ($$pg_temp.id(1), null, 'A', pg_temp.id(31)$$, 'PD400 p_squad_id', 'no id'),
        ($$pg_temp.id(1), pg_temp.id(42), '', pg_temp.id(31)$$, 'PD400 p_name', 'no name'),
        ($$pg_temp.id(1), pg_temp.id(42), 'A', null$$, 'PD400 p_leader_id', 'no leader'),
        (
            $$pg_temp.id(1), pg_temp.id(42), 'A', pg_temp.id(39)$$, 'PD404 p_leader_id',
            'a leader of another workspace'
        ),
        (
            $$pg_temp.id(1), pg_temp.id(42), 'A', pg_temp.id(33)$$, 'PD400 p_leader_id',
            'an archived leader'
        )
) as t (arguments, error, what);

select dispatch.archive_squad(pg_temp.id(1), pg_temp.id(41));
select dispatch_test.set_clock('2030-01-15 12:02:00+00');
select dispatch.archive_squad(pg_temp.id(1), pg_temp.id(41));
select is(
    pg_temp.squad(), '(Red,32,"2030-01-15 12:01:00+00")',
    'archiving a squad again keeps the first instant'
);
select is(
    dispatch_test.error_of(
        $$select dispatch.put_squad(pg_temp.id(1), pg_temp.id(41), 'B', pg_temp.id(31))$$
    ),
    'PD409 p_squad_id', 'an archived squad is not changed'
);
select is(
    dispatch_test.error_of($$select dispatch.archive_squad(pg_temp.id(2), pg_temp.id(41))$$),
    'PD404 p_squad_id', 'archive_squad: a squad of another workspace'
);
select is(
    dispatch_test.error_of($$select dispatch.archive_squad(pg_temp.id(1), null)$$),
    'PD400 p_squad_id', 'archive_squad: no squad'
);
select is(
    dispatch_test.error_of($$select dispatch.archive_squad(pg_temp.id(9), pg_temp.id(41))$$),
    'PD404 p_workspace_id', 'archive_squad: an unknown workspace'
);

select * from finish();
rollback;

begin;
select plan(44);
create function pg_temp.id(p_number integer) returns uuid language sql as $fn$
select dispatch_test.id(p_number);
$fn$;

-- Agents of one owner H. O owns nothing; X has the member grant and is in the team.
select dispatch.put_workspace(pg_temp.id(1), 'Acme');
select dispatch.put_workspace(pg_temp.id(2), 'Other');
select dispatch.put_member(pg_temp.id(1), t.id, t.name, t.role)
from (
    values
        (pg_temp.id(11), 'H', 'member'), (pg_temp.id(12), 'X', 'member'),
        (pg_temp.id(13), 'O', 'member'), (pg_temp.id(14), 'admin', 'admin')
) as t (id, name, role);
select dispatch.put_member(pg_temp.id(2), pg_temp.id(19), 'stranger');
select dispatch.put_team(pg_temp.id(1), pg_temp.id(21), 'team');
select dispatch.put_team_member(pg_temp.id(1), pg_temp.id(21), pg_temp.id(12));
select dispatch.put_team(pg_temp.id(1), pg_temp.id(12), 'of the same id as X');
select dispatch.put_agent(
    pg_temp.id(1), t.id, t.name, pg_temp.id(11), p_permission => t.permission
)
from (
    values
        (pg_temp.id(31), 'private', 'private'),
        (pg_temp.id(32), 'open to the workspace', 'public_to'),
        (pg_temp.id(33), 'open to X', 'public_to'),
        (pg_temp.id(34), 'open to a team', 'public_to'),
        (pg_temp.id(35), 'open to nobody', 'public_to'),
        (pg_temp.id(36), 'open to a team with the id of X', 'public_to'),
        (pg_temp.id(39), 'speaker', 'private')
) as t (id, name, permission);
select dispatch.grant_invoke(pg_temp.id(1), pg_temp.id(32), 'workspace');
select dispatch.grant_invoke(pg_temp.id(1), pg_temp.id(33), 'member', pg_temp.id(12));
select dispatch.grant_invoke(pg_temp.id(1), pg_temp.id(34), 'team', pg_temp.id(21));
select dispatch.grant_invoke(pg_temp.id(1), pg_temp.id(36), 'team', pg_temp.id(12));

create function pg_temp.may(
    p_agent integer, p_type text, p_user integer, p_workspace integer default 1
) returns boolean language sql as $fn$
select case p_type
    when 'user' then dispatch.can_invoke_agent(
        pg_temp.id(p_workspace), pg_temp.id(p_agent), 'user', pg_temp.id(p_user)
    )
    when 'agent' then dispatch.can_invoke_agent(
        pg_temp.id(p_workspace), pg_temp.id(p_agent), 'agent', pg_temp.id(39),
        p_originator_id => pg_temp.id(p_user)
    )
    else dispatch.can_invoke_agent(
        pg_temp.id(p_workspace), pg_temp.id(p_agent), 'system',
        p_originator_id => pg_temp.id(p_user)
    )
end;
$fn$;

-- The table, a row an actor and a column a kind of agent; some cells are two assertions.
select is(
    pg_temp.may(t.agent, t.kind, t.human), t.allowed,
    format('%s, %s: %s', t.kind, t.who, t.what)
)
from (
    values
        (1, 'user', 13, 'another member', 31, 'private', false),
        (2, 'user', 14, 'an admin', 31, 'private', false),
        (3, 'user', 11, 'the owner', 31, 'private', true),
        (4, 'user', 13, 'another member', 32, 'open to the workspace', true),
        (5, 'user', 19, 'no member', 32, 'open to the workspace', false),
        (6, 'user', 12, 'X', 33, 'open to X', true),
        (7, 'user', 13, 'another member', 33, 'open to X', false),
        (8, 'user', 12, 'in the team', 34, 'open to a team', true),
        (9, 'user', 13, 'another member', 34, 'open to a team', false),

        (11, 'agent', 13, 'for another member', 31, 'private', false),
        (12, 'agent', 11, 'for the owner', 31, 'private', true),
        (13, 'agent', 13, 'for another member', 32, 'open to the workspace', true),
        (14, 'agent', 12, 'for X', 33, 'open to X', true),
        (15, 'agent', 13, 'for another member', 33, 'open to X', false),
        (16, 'agent', 12, 'for one in the team', 34, 'open to a team', true),
        (17, 'agent', 13, 'for another member', 34, 'open to a team', false),

        (21, 'agent', null, 'for nobody, of the same owner', 31, 'private', false),
        (22, 'agent', null, 'for nobody', 32, 'open to the workspace', true),
        (23, 'agent', null, 'for nobody', 33, 'open to X', false),
        (24, 'agent', null, 'for nobody', 34, 'open to a team', false),

        (31, 'system', 13, 'for another member', 31, 'private', false),
        (32, 'system', 11, 'for the owner', 31, 'private', true),
        (33, 'system', 13, 'for another member', 32, 'open to the workspace', true),
        (34, 'system', 12, 'for X', 33, 'open to X', true),
        (35, 'system', 13, 'for another member', 33, 'open to X', false),
        (36, 'system', 12, 'for one in the team', 34, 'open to a team', true),
        (37, 'system', 13, 'for another member', 34, 'open to a team', false),

        (41, 'system', null, 'for nobody', 31, 'private', false),
        (42, 'system', null, 'for nobody', 32, 'open to the workspace', true),
        (43, 'system', null, 'for nobody', 33, 'open to X', false),
        (44, 'system', null, 'for nobody', 34, 'open to a team', false),

        (50, 'user', 12, 'X', 36, 'open to a team with the id of X', false),
        (51, 'user', 11, 'the owner', 34, 'open to a team', true),
        (52, 'user', 12, 'X', 35, 'open to nobody', false),
        (53, 'user', 11, 'the owner', 35, 'open to nobody', true),
        (54, 'user', null, 'without an id', 32, 'open to the workspace', false),
        (55, 'user', 13, 'another member', 38, 'there is no such agent', false),
        (56, 'system', null, 'for nobody', 38, 'there is no such agent', false)
) as t (n, kind, human, who, agent, what, allowed)
order by t.n;

select is(
    pg_temp.may(32, 'user', 19, 2), false, 'an agent of another workspace is not there'
);
select dispatch.remove_team_member(pg_temp.id(1), pg_temp.id(21), pg_temp.id(12));
select is(pg_temp.may(34, 'user', 12), false, 'who has left the team may not');
select dispatch.put_team_member(pg_temp.id(1), pg_temp.id(21), pg_temp.id(13));
select is(pg_temp.may(34, 'user', 13), true, 'who has come into the team may');
select dispatch.put_agent(
    pg_temp.id(1), pg_temp.id(32), 'closed', pg_temp.id(11), p_permission => 'private'
);
select is(
    pg_temp.may(32, 'user', 13), false, 'a grant counts for nothing on a private agent'
);
select dispatch.remove_member(pg_temp.id(1), pg_temp.id(11));
select is(pg_temp.may(31, 'user', 11), false, 'a removed owner may not');
select is(pg_temp.may(31, 'agent', null), false, 'nobody owns an agent without an owner');

select * from finish();
rollback;

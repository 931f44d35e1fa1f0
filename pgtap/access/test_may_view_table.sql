begin;
select plan(14);

-- Agents of one owner 11; 12 has the member grant, 13 is in the team, 14 is an admin, 15 an
-- owner of the workspace, 16 a member like any other, 19 none at all.
select dispatch.put_workspace(dispatch_test.id(1), 'Acme');
select dispatch.put_member(dispatch_test.id(1), dispatch_test.id(m.id), 'Member', m.role)
from (
    values
        (11, 'member'), (12, 'member'), (13, 'member'), (14, 'admin'), (15, 'owner'),
        (16, 'member')
) as m (id, role);
select dispatch.put_team(dispatch_test.id(1), dispatch_test.id(21), 'Team');
select dispatch.put_team_member(
    dispatch_test.id(1), dispatch_test.id(21), dispatch_test.id(13)
);
select dispatch.put_agent(
    dispatch_test.id(1), dispatch_test.id(a.id), 'Agent', dispatch_test.id(11),
    p_permission => a.permission
)
from (
    values
        (31, 'private'), (32, 'public_to'), (33, 'public_to'), (34, 'public_to'),
        (35, 'public_to')
) as a (id, permission);
select dispatch.grant_invoke(dispatch_test.id(1), dispatch_test.id(32), 'workspace');
select dispatch.grant_invoke(
    dispatch_test.id(1), dispatch_test.id(33), 'member', dispatch_test.id(12)
);
select dispatch.grant_invoke(
    dispatch_test.id(1), dispatch_test.id(34), 'team', dispatch_test.id(21)
);

select is(
    dispatch._may_view(
        dispatch_test.id(1), dispatch_test.id(t.agent), t.actor_type, dispatch_test.id(t.actor)
    ),
    t.allowed, t.what
)
from (
    values
        (1, 31, 'agent', 32, true, 'an agent sees a private agent'),
        (2, 31, 'system', null, true, 'the system sees it'),
        (3, 31, 'user', 11, true, 'its owner sees it'),
        (4, 31, 'user', 14, true, 'an admin sees it'),
        (5, 31, 'user', 15, true, 'an owner of the workspace sees it'),
        (6, 31, 'user', 16, false, 'another member does not'),
        (7, 32, 'user', 16, true, 'a member sees what is open to the workspace'),
        (8, 32, 'user', 19, false, 'who is no member does not'),
        (9, 33, 'user', 12, true, 'a member sees what is open to them'),
        (10, 33, 'user', 13, false, 'others do not'),
        (11, 34, 'user', 13, true, 'who is in the team sees what is open to it'),
        (12, 34, 'user', 12, false, 'who is not does not'),
        (13, 35, 'user', 16, false, 'nobody is let in without a grant'),
        (14, 31, 'user', null, false, 'nor is a caller without an id')
) as t (n, agent, actor_type, actor, allowed, what)
order by t.n;

select * from finish();
rollback;

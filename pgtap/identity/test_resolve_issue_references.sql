begin;
select plan(33);
select dispatch_test.set_clock('2030-01-15 12:00:00+00');

-- Workspace 1 with members 11 and 12, runtime 21, and 11's private agents 31 and 32.
select dispatch.put_workspace(dispatch_test.id(1), 'Board', 'ABC');
select dispatch.put_member(dispatch_test.id(1), dispatch_test.id(11), 'Owner');
select dispatch.put_member(dispatch_test.id(1), dispatch_test.id(12), 'Other');
select dispatch.put_runtime(dispatch_test.id(1), dispatch_test.id(21), 'daemon');
select dispatch.heartbeat(dispatch_test.id(1), array[dispatch_test.id(21)]);
select dispatch.put_agent(
    dispatch_test.id(1), dispatch_test.id(a), 'Agent', dispatch_test.id(11),
    dispatch_test.id(21)
)
from generate_series(31, 32) as a;

-- Workspace 2 has a member, an agent and an issue of its own.
select dispatch.put_workspace(dispatch_test.id(2), 'Elsewhere', 'XYZ');
select dispatch.put_member(dispatch_test.id(2), dispatch_test.id(13), 'Stranger');
select dispatch.put_runtime(dispatch_test.id(2), dispatch_test.id(22), 'daemon');
select dispatch.put_agent(
    dispatch_test.id(2), dispatch_test.id(39), 'Agent', dispatch_test.id(13),
    dispatch_test.id(22)
);
select dispatch.create_issue(
    dispatch_test.id(2), 'Theirs', 'system', p_issue_id => dispatch_test.id(109)
);

select dispatch.create_issue(
    dispatch_test.id(1), 'Written', 'system',
    p_issue_id => '0198a0bc-def0-7abc-8def-0123456789ab'
);
select dispatch.create_issue(
    dispatch_test.id(2), 'Theirs too', 'system', p_issue_id => dispatch_test.id(110)
);

create function pg_temp.finds(p_reference text, p_workspace integer default 1)
returns text
language sql
as $finds$
select case dispatch.resolve_issue(dispatch_test.id(p_workspace), p_reference)
    when '0198a0bc-def0-7abc-8def-0123456789ab' then 'ours'
    when dispatch_test.id(109) then 'theirs'
    when dispatch_test.id(110) then 'theirs too'
end;
$finds$;

create function pg_temp.fails(p_reference text)
returns text
language sql
as $fails$
select dispatch_test.error_of(format('select pg_temp.finds(%L)', p_reference));
$fails$;

select is(pg_temp.finds('ABC-1'), 'ours', 'an identifier');
select is(pg_temp.finds('abc-1'), 'ours', 'in lower case');
select is(pg_temp.finds('aBc-1'), 'ours', 'in any case');
select is(pg_temp.finds('0198a0bc-def0-7abc-8def-0123456789ab'), 'ours', 'a uuid');
select is(
    pg_temp.finds(upper('0198a0bc-def0-7abc-8def-0123456789ab')), 'ours',
    'in upper case'
);
select is(pg_temp.finds('{0198a0bc-def0-7abc-8def-0123456789ab}'), 'ours', 'in braces');
select is(pg_temp.finds('0198a0bcdef07abc8def0123456789ab'), 'ours', 'without dashes');
select is(
    pg_temp.finds('0198-a0bc-def0-7abc-8def-0123-4567-89ab'), 'ours',
    'with other dashes'
);
select is(pg_temp.finds('XYZ-2', 2), 'theirs too', 'another workspace by its own prefix');
select is(pg_temp.fails('XYZ-1'), 'PD404 p_reference', 'another workspace''s prefix');
select is(pg_temp.fails('ABC-2'), 'PD404 p_reference', 'a number that is not there');
select is(pg_temp.fails('ABC-01'), 'PD404 p_reference', 'a number with a leading zero');
select is(pg_temp.fails('ABC-0'), 'PD404 p_reference', 'number 0');
select is(pg_temp.fails('ABC'), 'PD404 p_reference', 'a prefix alone');
select is(pg_temp.fails('ABC-'), 'PD404 p_reference', 'no number');
select is(pg_temp.fails('ABC-1 '), 'PD404 p_reference', 'a blank behind it');
select is(pg_temp.fails('ABC-1x'), 'PD404 p_reference', 'a letter behind it');
select is(
    pg_temp.fails('ABC-99999999999999999999999'), 'PD404 p_reference',
    'a number beyond all'
);
select is(pg_temp.fails('1'), 'PD404 p_reference', 'a number alone');
select is(
    pg_temp.fails('00000000-0000-7000-8000-000000000109'), 'PD404 p_reference',
    'another workspace''s uuid'
);
select is(
    pg_temp.fails('00000000-0000-7000-8000-000000000777'), 'PD404 p_reference',
    'an unknown uuid'
);
select is(
    pg_temp.fails('00000000-0000-0000-0000-000000000000'), 'PD404 p_reference',
    'the all-zero uuid'
);
select is(
    pg_temp.fails('0198a0bc-def0-7abc-8def-0123456789a'), 'PD404 p_reference',
    'a digit too few'
);
select is(
    pg_temp.fails('0198a0bc-def0-7abc-8def-0123456789ab0'), 'PD404 p_reference',
    'a digit too many'
);
select is(
    pg_temp.fails('{0198a0bc-def0-7abc-8def-0123456789ab'), 'PD404 p_reference',
    'one brace'
);
select is(
    pg_temp.fails('0198a0bc-def0-7abc-8dxf-0123456789ab'), 'PD404 p_reference',
    'a letter that is no digit'
);
select is(
    pg_temp.fails('0-198a0bcdef07abc8def0123456789ab'), 'PD404 p_reference',
    'a dash within a group'
);
select is(
    pg_temp.fails('ABC-1; drop table dispatch.issue'), 'PD404 p_reference',
    'anything else'
);
select is(pg_temp.fails(null), 'PD400 p_reference', 'no reference');
select is(pg_temp.fails(''), 'PD400 p_reference', 'an empty one');
select is(pg_temp.fails('  '), 'PD400 p_reference', 'a blank one');
select is(
    dispatch_test.error_of($$select dispatch.resolve_issue(null, 'ABC-1')$$),
    'PD400 p_workspace_id', 'no workspace'
);
select is(
    dispatch_test.error_of($$select dispatch.resolve_issue(dispatch_test.id(9), 'ABC-1')$$),
    'PD404 p_reference', 'an unknown workspace has no issues'
);

select * from finish();
rollback;

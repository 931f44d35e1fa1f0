begin;
select plan(26);
create function pg_temp.id(p_number integer) returns uuid language sql as $fn$
select dispatch_test.id(p_number);
$fn$;
select dispatch_test.set_clock('2030-01-15 12:00:00+00');

select dispatch.put_workspace(pg_temp.id(1), 'Acme Works');
select is(
    (
        select (
            w.name, w.issue_prefix, w.attribution_policy, w.issue_counter, w.created_at
        )::text
        from dispatch.workspace as w
        where w.id = pg_temp.id(1)
    ),
    '("Acme Works",ACM,owner_fallback,0,"2030-01-15 12:00:00+00")',
    'a first call derives the prefix and takes the first policy'
);

select dispatch_test.advance_clock(interval '1 hour');
create temporary table seen as
select w.ctid as place from dispatch.workspace as w where w.id = pg_temp.id(1);
select dispatch.put_workspace(pg_temp.id(1), 'Acme Works');
select dispatch.put_workspace(pg_temp.id(1), 'Acme Works', 'ACM', 'owner_fallback');
select is(
    (select w.ctid from dispatch.workspace as w where w.id = pg_temp.id(1)),
    (select s.place from seen as s),
    'repeating a call writes nothing'
);

select dispatch.put_workspace(pg_temp.id(1), 'Acme', 'AW2', 'fail_closed');
select dispatch.put_workspace(pg_temp.id(1), 'Acme & Sons');
select is(
    (
        select (w.name, w.issue_prefix, w.attribution_policy, w.created_at)::text
        from dispatch.workspace as w
        where w.id = pg_temp.id(1)
    ),
    '("Acme & Sons",AW2,fail_closed,"2030-01-15 12:00:00+00")',
    'what is given is changed, what is left out is kept'
);

select dispatch.create_issue(pg_temp.id(1), 'first', 'system');
select dispatch.put_workspace(pg_temp.id(1), 'Acme', 'NEW');
select isnt(
    dispatch.resolve_issue(pg_temp.id(1), 'NEW-1'), null,
    'a workspace with issues may get another prefix, which its issues follow'
);

select dispatch.put_workspace(pg_temp.id(2), 'Other', 'NEW');
select is(
    (select count(*)::integer from dispatch.workspace as w where w.issue_prefix = 'NEW'), 2,
    'two workspaces may have one prefix'
);

-- The derived prefix, case by case.
create function pg_temp.prefix_of(p_id integer, p_name text)
returns text
language plpgsql
as $fn$
begin
    perform dispatch.put_workspace(pg_temp.id(p_id), p_name);
    return (select w.issue_prefix from dispatch.workspace as w where w.id = pg_temp.id(p_id));
end;
$fn$;
select is(
    pg_temp.prefix_of(
        t.id, t.name), t.prefix, format('the prefix of %s is %s', t.name, t.prefix
    )
)
from (
    values
        (
            11, 'acme', 'ACM'), (12, 'a b', 'ABX'), (13, '7 Wonders 7', 'WON'), (14, 'R2-D2',
            'R2D'
        ),
        (15, '株式会社', 'WS'), (16, '42', 'WS'), (17, 'é à x', 'XXX')
) as t (id, name, prefix);

select is(dispatch_test.error_of(t.call), t.error, t.what)
from (
    values
        ($$select dispatch.put_workspace(null, 'A')$$, 'PD400 p_workspace_id', 'no id'),
        (
            $$select dispatch.put_workspace('00000000-0000-0000-0000-000000000000', 'A')$$,
            'PD400 p_workspace_id', 'the all-zero id'
        ),
        ($$select dispatch.put_workspace(pg_temp.id(3), null)$$, 'PD400 p_name', 'no name'),
        ($$select dispatch.put_workspace(pg_temp.id(3), '  ')$$, 'PD400 p_name', 'blank name'),
        (
            $$select dispatch.put_workspace(pg_temp.id(3), repeat('é', 101))$$,
            'PD400 p_name', 'a name of 202 bytes'
        ),
        (
            $$select dispatch.put_workspace(pg_temp.id(3), 'A', 'A')$$,
            'PD400 p_issue_prefix', 'a prefix of one letter'
        ),
        (
            $$select dispatch.put_workspace(pg_temp.id(3), 'A', 'ABCDEFGHIJK')$$,
            'PD400 p_issue_prefix', 'a prefix of eleven letters'
        ),
        (
            $$select dispatch.put_workspace(pg_temp.id(3), 'A', 'ab')$$,
            'PD400 p_issue_prefix', 'a prefix in lower case'
        ),
        (
            $$select dispatch.put_workspace(pg_temp.id(3), 'A', '1A')$$,
            'PD400 p_issue_prefix', 'a prefix that begins with a digit'
        ),
        (
            $$select dispatch.put_workspace(pg_temp.id(3), 'A', E'AB\n')$$,
            'PD400 p_issue_prefix', 'a prefix with a line break'
        ),
        (
            $$select dispatch.put_workspace(pg_temp.id(3), 'A', '')$$,
            'PD400 p_issue_prefix', 'an empty prefix'
        ),
        (
            $$select dispatch.put_workspace(pg_temp.id(3), 'A', 'AB', 'open')$$,
            'PD400 p_attribution_policy', 'an unknown policy'
        )
) as t (call, error, what);
select is(
    (select count(*)::integer from dispatch.workspace as w where w.id = pg_temp.id(3)), 0,
    'a refused call stores nothing'
);
select is(
    dispatch_test.error_of(
        $$select dispatch.put_workspace(pg_temp.id(3), repeat('a', 200), 'ABCDEFGHIJ')$$
    ),
    '00000', 'the longest name and prefix are taken'
);

select * from finish();
rollback;

begin;
select plan(30);
select dispatch_test.set_clock('2030-01-15 12:00:00+00');

select board.make();

-- Writes a comment on issue 51 and tells what became of each target.
create function pg_temp.say(
    p_body text,
    p_mentions text default '',
    p_parent text default null,
    p_actor_type text default 'user',
    p_actor integer default 11,
    p_acting_run uuid default null,
    p_issue integer default 51
)
returns text
language sql
as $say$
select string_agg(
    concat_ws(
        ' ', a.target_type, right(a.target_id::text, 2), a.outcome, a.reason_code,
        right(a.agent_id::text, 2)
    ),
    '; '
)
from dispatch.add_comment(
    dispatch_test.id(1), dispatch_test.id(p_issue), p_body, p_actor_type,
    dispatch_test.id(p_actor), p_acting_run, board.mentions(p_mentions),
    board.comment(p_parent)
) as a;
$say$;

select dispatch.create_issue(
    dispatch_test.id(1), 'Issue', 'user', dispatch_test.id(11),
    p_assignee_type => null, p_assignee_id => dispatch_test.id(null),
    p_issue_id => dispatch_test.id(51), p_suppress_run => true
);

select dispatch.create_issue(
    dispatch_test.id(1), 'Other', 'system', p_issue_id => dispatch_test.id(52)
);
select pg_temp.say('c1', 'member 12');
select dispatch.put_workspace(dispatch_test.id(2), 'Elsewhere', 'XYZ');
select is(
    dispatch_test.error_of(format(
        'select a.outcome from dispatch.add_comment(%s) as a', t.arguments
    )),
    t.error, format('add_comment: %s', t.what)
)
from (
    values
        (1, 'null, {51}, $$x$$, $$system$$', 'PD400 p_workspace_id', 'no workspace'),
        (2, '{9}, {51}, $$x$$, $$system$$', 'PD404 p_workspace_id', 'an unknown one'),
        (3, '{1}, null, $$x$$, $$system$$', 'PD400 p_issue_id', 'no issue'),
        (4, '{1}, {59}, $$x$$, $$system$$', 'PD404 p_issue_id', 'an unknown issue'),
        (5, '{2}, {51}, $$x$$, $$system$$', 'PD404 p_issue_id', 'a foreign issue'),
        (6, '{1}, {51}, null, $$system$$', 'PD400 p_body', 'no body'),
        (7, '{1}, {51}, $$ $$, $$system$$', 'PD400 p_body', 'a blank body'),
        (
            8, '{1}, {51}, repeat($$x$$, 1048577), $$system$$', 'PD400 p_body',
            'a body that is too long'
        ),
        (9, '{1}, {51}, $$x$$, null', 'PD400 p_actor_type', 'no actor'),
        (10, '{1}, {51}, $$x$$, $$user$$, {19}', 'PD403 p_actor_id', 'no member'),
        (
            11, '{1}, {51}, $$x$$, $$agent$$, {31}, {99}',
            'PD403 p_acting_run_id attribution_blocked', 'an agent in no run of its own'
        ),
        (
            12, '{1}, {51}, $$x$$, $$system$$, p_mentions => $${}$$', 'PD400 p_mentions',
            'mentions that are no list'
        ),
        (
            13, '{1}, {51}, $$x$$, $$system$$, p_mentions => $$[1]$$', 'PD400 p_mentions[0]',
            'a mention that is no object'
        ),
        (
            14, '{1}, {51}, $$x$$, $$system$$, '
            'p_mentions => $$[{"type": "team", "id": "1"}]$$',
            'PD400 p_mentions[0].type', 'an unknown kind of mention'
        ),
        (
            15, '{1}, {51}, $$x$$, $$system$$, '
            'p_mentions => $$[{"type": "all"}, {"id": "1"}]$$',
            'PD400 p_mentions[1].type', 'a mention of no kind'
        ),
        (
            16, '{1}, {51}, $$x$$, $$system$$, p_mentions => $$[{"type": "agent"}]$$',
            'PD400 p_mentions[0].id', 'a mention of nobody'
        ),
        (
            17, '{1}, {51}, $$x$$, $$system$$, '
            'p_mentions => $$[{"type": "agent", "id": 1}]$$',
            'PD400 p_mentions[0].id', 'an id that is no text'
        ),
        (
            18, '{1}, {51}, $$x$$, $$system$$, '
            'p_mentions => $$[{"type": "all", "colour": "red"}]$$',
            'PD400 p_mentions[0].colour', 'an unknown key'
        ),
        (
            19, '{1}, {51}, $$x$$, $$system$$, p_parent_id => {59}', 'PD404 p_parent_id',
            'an unknown parent'
        ),
        (
            20, '{1}, {52}, $$x$$, $$system$$, p_parent_id => board.comment($$c1$$)',
            'PD404 p_parent_id', 'a parent of another issue'
        ),
        (
            21, '{1}, {51}, $$x$$, $$system$$, p_mentions => null, p_parent_id => null',
            '00000', 'NULL for what may be left out'
        )
) as w (place, written, error, what)
cross join lateral (
    select
        w.place, w.error, w.what,
        regexp_replace(w.written, '\{(\d+)\}', 'dispatch_test.id(\1)', 'g') as arguments
) as t
order by t.place;
select is(
    dispatch_test.error_of(format('select a.outcome from dispatch.%s as a', t.call)), t.error,
    t.what
)
from (
    values
        (1, 'edit_comment({1}, null, $$x$$, $$system$$)', 'PD400 p_comment_id', 'no comment'),
        (
            2, 'edit_comment({1}, {59}, $$x$$, $$system$$)', 'PD404 p_comment_id',
            'edit_comment: an unknown comment'
        ),
        (
            3, 'edit_comment({2}, board.comment($$c1$$), $$x$$, $$system$$)',
            'PD404 p_comment_id', 'edit_comment: one of another workspace'
        ),
        (
            4, 'edit_comment({1}, board.comment($$c1$$), $$$$, $$system$$)', 'PD400 p_body',
            'edit_comment: no body'
        ),
        (
            5, 'edit_comment({1}, board.comment($$c1$$), $$x$$, $$system$$, '
            'p_mentions => $$[{}]$$)', 'PD400 p_mentions[0].type', 'edit_comment: no mention'
        ),
        (
            6, 'edit_comment({1}, board.comment($$c1$$), $$x$$, $$user$$, {19})',
            'PD403 p_actor_id', 'edit_comment: no member'
        ),
        (
            7, 'delete_comment({1}, {59}, $$system$$)', 'PD404 p_comment_id',
            'delete_comment: an unknown comment'
        ),
        (
            8, 'delete_comment({2}, board.comment($$c1$$), $$system$$)', 'PD404 p_comment_id',
            'delete_comment: one of another workspace'
        ),
        (
            9, 'delete_comment({1}, board.comment($$c1$$), $$user$$, {19})',
            'PD403 p_actor_id', 'delete_comment: no member'
        )
) as w (place, written, error, what)
cross join lateral (
    select
        w.place, w.error, w.what,
        regexp_replace(w.written, '\{(\d+)\}', 'dispatch_test.id(\1)', 'g') as call
) as t
order by t.place;
select * from finish();
rollback;

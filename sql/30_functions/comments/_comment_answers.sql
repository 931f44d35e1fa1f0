create or replace function dispatch._comment_answers(
    p_comment_id uuid,
    p_answers dispatch.comment_answer[]
)
returns setof dispatch.comment_answer
language sql
immutable
parallel safe
rows 2
as $fn$
select
    a.comment_id, a.target_type, a.target_id, a.outcome, a.reason_code, a.run_id, a.agent_id
from unnest(case
    when cardinality(p_answers) > 0 then p_answers
    else array[
        row(p_comment_id, null, null, 'none', 'not_triggered', null, null)
        ::dispatch.comment_answer
    ]
end) with ordinality as a
order by a.ordinality;
$fn$;

comment on function dispatch._comment_answers(uuid, dispatch.comment_answer[]) is
$doc$Give answers as rows, or the one row that says that a comment woke nobody.

Errors: none.$doc$;

create or replace function dispatch._preview_rows(
    p_issue_ids uuid[],
    p_decisions dispatch.decision[]
)
returns setof dispatch.preview
language sql
immutable
parallel safe
rows 10
as $fn$
select
    i.id, (p_decisions[i.place]).agent_id, (p_decisions[i.place]).source,
    (p_decisions[i.place]).outcome = 'queued', (p_decisions[i.place]).outcome,
    (p_decisions[i.place]).reason_code, (p_decisions[i.place]).detail
from unnest(p_issue_ids) with ordinality as i (id, place)
order by i.place;
$fn$;

comment on function dispatch._preview_rows(uuid[], dispatch.decision[]) is
$doc$Join issues with what a write would make of their wakes, in the order given.

Errors: none.$doc$;

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
    p.issue_id, p.agent_id, p.source, p.outcome = 'queued', p.outcome, p.reason_code, p.detail
from rows from (unnest(p_issue_ids), unnest(p_decisions)) with ordinality as p (
    issue_id, outcome, reason_code, run_id, agent_id, source, detail, place
)
order by p.place;
$fn$;

comment on function dispatch._preview_rows(uuid[], dispatch.decision[]) is
$doc$Join issues with what a write would make of their wakes, in the order given.

Errors: none.$doc$;

create or replace function dispatch._first_reports(p_reports dispatch._report[])
returns setof dispatch._report
language sql
immutable
parallel safe
rows 10
as $fn$
select distinct on (p.run_id, p.claim_no)
    p.ord, p.run_id, p.claim_no, p.result, p.failure_reason, p.error, p.session_id, p.work_dir,
    p.session_lost, p.lease
from unnest(p_reports) as p
order by p.run_id, p.claim_no, p.ord;
$fn$;

comment on function dispatch._first_reports(dispatch._report[]) is
$doc$Give of several reports about one claim of a run the first; the others are repeats.

Errors: none.$doc$;

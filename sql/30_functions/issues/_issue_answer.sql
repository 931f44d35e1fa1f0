create or replace function dispatch._issue_answer(
    p_prefix text,
    p_issue dispatch.issue,
    p_decision dispatch.decision
)
returns dispatch.issue_write
language sql
immutable
parallel safe
as $fn$
select row(
    p_issue.id, p_prefix || '-' || p_issue.number::text, p_issue.assignment_generation,
    p_decision.outcome, p_decision.reason_code, p_decision.run_id, p_decision.agent_id,
    p_decision.source, p_decision.detail
)::dispatch.issue_write;
$fn$;

comment on function dispatch._issue_answer(text, dispatch.issue, dispatch.decision) is
$doc$Join an issue after a write with what became of its wake.

Errors: none.$doc$;

create type dispatch.comment_answer as (
    comment_id uuid,
    target_type text,
    target_id uuid,
    outcome dispatch.outcome,
    reason_code dispatch.reason_code,
    run_id uuid,
    agent_id uuid
);

comment on type dispatch.comment_answer is
$doc$Whom a comment asks for work, and what became of that wake.

The target is whom the comment names or answers to, or the issue's assignee: an agent or a
squad. It is NULL where the comment wakes nobody.$doc$;

begin;
select plan(10);

create function pg_temp.columns_of(p_name text)
returns text
language sql
as $fn$
select string_agg(
    a.attname || ' ' || format_type(a.atttypid, a.atttypmod), ', ' order by a.attnum
)
from pg_catalog.pg_attribute as a
where a.attrelid = p_name::regclass and a.attnum > 0 and not a.attisdropped;
$fn$;

-- Columns may be added at the end: each comparison is of the beginning.
select matches(
    pg_temp.columns_of('dispatch.decision'),
    '^outcome dispatch.outcome, reason_code dispatch.reason_code, run_id uuid, agent_id uuid, '
    'source text, detail jsonb',
    'a decision'
);
select matches(
    pg_temp.columns_of('dispatch.issue_write'),
    '^issue_id uuid, identifier text, assignment_generation bigint, outcome dispatch.outcome, '
    'reason_code dispatch.reason_code, run_id uuid, agent_id uuid, source text, detail jsonb',
    'a written issue'
);
select matches(
    pg_temp.columns_of('dispatch.preview'),
    '^issue_id uuid, agent_id uuid, source text, will_run boolean, outcome dispatch.outcome, '
    'reason_code dispatch.reason_code, detail jsonb',
    'a preview'
);
select matches(
    pg_temp.columns_of('dispatch.explanation'),
    '^step text, ok boolean, reason_code dispatch.reason_code, detail jsonb',
    'a step that is explained'
);
select matches(
    pg_temp.columns_of('dispatch.transition'),
    '^applied boolean, run_id uuid, status dispatch.run_status, claim_no integer, '
    'retry_run_id uuid, reason text, follow_up_run_id uuid',
    'a transition'
);
select matches(
    pg_temp.columns_of('dispatch.claimed_run'),
    '^run_id uuid, workspace_id uuid, agent_id uuid, runtime_id uuid, issue_id uuid, '
    'chat_session_id uuid, autopilot_run_id uuid, claim_no integer, attempt integer, '
    'priority integer, reason text, payload jsonb, triggers jsonb, '
    'requested_at timestamp with time zone, dispatched_at timestamp with time zone, '
    'lease_expires_at timestamp with time zone, originator_id uuid, accountable_id uuid, '
    'attribution_source text, is_leader_run boolean, squad_id uuid, handoff_note text, '
    'session_id text, work_dir text, reclaimed boolean',
    'a claimed run'
);
select matches(
    pg_temp.columns_of('dispatch.comment_answer'),
    '^comment_id uuid, target_type text, target_id uuid, outcome dispatch.outcome, '
    'reason_code dispatch.reason_code, run_id uuid, agent_id uuid',
    'an answer to a comment'
);
select matches(
    pg_temp.columns_of('dispatch.queue_depth'),
    '^workspace_id uuid, agent_id uuid, status dispatch.run_status, runs bigint, '
    'oldest_requested_at timestamp with time zone',
    'the depth of the queue'
);
select matches(
    pg_temp.columns_of('dispatch.gate_counters'),
    '^metric text, reason text, value bigint',
    'the counters of the gates'
);
select columns_are(
    'dispatch', 'runs',
    array[
        'id', 'workspace_id', 'agent_id', 'runtime_id', 'issue_id', 'chat_session_id',
        'autopilot_run_id', 'reason', 'payload', 'idempotency_key', 'status', 'priority',
        'requested_at', 'fire_at', 'dispatched_at', 'lease_expires_at', 'started_at',
        'finished_at', 'claim_no', 'attempt', 'max_attempts', 'parent_run_id',
        'rerun_of_run_id', 'escalation_for_run_id', 'delegated_from_run_id',
        'follow_up_run_id', 'source', 'comment_id', 'lane', 'coalesced_count', 'actor_type',
        'actor_id', 'originator_id', 'accountable_id', 'attribution_source', 'evidence_kind',
        'evidence_id', 'is_leader_run', 'squad_id', 'handoff_note', 'force_fresh',
        'session_id', 'work_dir', 'result', 'failure_reason', 'error', 'wait_reason'
    ],
    'the runs'
);

select * from finish();
rollback;

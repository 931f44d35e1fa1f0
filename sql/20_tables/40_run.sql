-- Narrow on purpose: every transition writes this row and each partial index whose predicate it
-- enters, so whatever no transition needs stands in run_detail. No storage parameters, for want
-- of gain (measured on 15.18, three rounds in alternation). Each transition changes the status,
-- which the indexes' predicates name, so only a lease's extension is HOT: 9 % of the updates at
-- any fillfactor; 70 instead of 100 saves 3 % of the WAL and nothing else. Beside 300,000 ended
-- runs, vacuuming at 2 % dead rows instead of 20 % keeps 13,000 instead of 47,000 dead ones, at
-- the same rate and the same buffers of a claim, and each time reads all indexes of the whole
-- history.
create table dispatch.run (
    workspace_id uuid not null,
    id uuid not null,
    agent_id uuid not null,
    runtime_id uuid,
    issue_id uuid,
    lane uuid not null,
    status dispatch.run_status not null,
    priority integer not null default 0,
    claim_no integer not null default 0,
    attempt integer not null default 1,
    max_attempts integer not null default 2,
    requested_at timestamptz not null,
    fire_at timestamptz,
    dispatched_at timestamptz,
    lease_expires_at timestamptz,
    started_at timestamptz,
    finished_at timestamptz,
    constraint run_pkey primary key (workspace_id, id),
    constraint run_runtime_while_alive check (
        runtime_id is not null or status in ('completed', 'failed', 'cancelled')
    ),
    constraint run_finished_when_terminal check (
        (finished_at is not null) = (status in ('completed', 'failed', 'cancelled'))
    ),
    constraint run_deferred_has_time check (status <> 'deferred' or fire_at is not null),
    constraint run_claim_no_range check (claim_no >= 0),
    constraint run_attempt_range check (attempt >= 1 and max_attempts >= 1)
);

create unique index run_pending_slot_idx
on dispatch.run (workspace_id, agent_id, issue_id)
where status in ('queued', 'dispatched');

create unique index run_active_lane_idx
on dispatch.run (workspace_id, agent_id, lane)
where status in ('dispatched', 'waiting_local_directory', 'running');

create index run_claim_order_idx
on dispatch.run (workspace_id, runtime_id, agent_id, priority desc, requested_at, id)
where status = 'queued';

-- The second half of the predicate holds for every row and keeps the index from queries that do
-- not say it: one for an agent's runs would else walk a runtime's whole backlog along it.
create index run_queue_order_idx
on dispatch.run (workspace_id, runtime_id, priority desc, requested_at, id)
where status = 'queued' and claim_no >= 0;

create index run_shared_lane_idx
on dispatch.run (workspace_id, agent_id, lane, priority desc, requested_at, id)
where status = 'queued' and issue_id is null and lane <> id;

create index run_stale_dispatch_idx
on dispatch.run (workspace_id, runtime_id, dispatched_at)
where status = 'dispatched';

create index run_due_idx
on dispatch.run (workspace_id, runtime_id, fire_at)
where status = 'deferred';

create index run_armed_retry_idx
on dispatch.run (workspace_id, agent_id)
where status = 'deferred' and attempt > 1 and claim_no = 0 and issue_id is not null;

create index run_queued_since_idx
on dispatch.run (workspace_id, greatest(requested_at, fire_at))
where status = 'queued';

create index run_finished_idx
on dispatch.run (workspace_id, finished_at)
where status in ('completed', 'failed', 'cancelled');

comment on table dispatch.run is
$doc$The queue: one row an admitted wake, from admission to its end. Read it through the view
runs.

Measured on 15.18 with one commit a step, full-page images off, eight agents on one runtime, and
a payload of 100 bytes: admission writes 1,670 B of WAL and touches 41 buffers, claim, start and
completion write 1,760 B (800, 490 and 470) and touch 110 buffers, half of them the claim's.
With a payload of 100 KiB only the admission grows, to 111,000 B: the payload is written
once.$doc$;
comment on column dispatch.run.lane is
$doc$What serialises the run within its agent: its issue, else its chat session, else the agent
itself for quick-create runs, else the run itself.$doc$;
comment on column dispatch.run.priority is
$doc$Higher is claimed first.$doc$;
comment on column dispatch.run.claim_no is
$doc$Generation of the claim: 0 at insert, one more with each claim and reclaim. A report that
carries another number changes nothing.$doc$;
comment on column dispatch.run.attempt is
$doc$1 for a first run, one more for each automatic retry of it.$doc$;
comment on column dispatch.run.max_attempts is
$doc$How many attempts there may be in all; 1 means that a failure is final.$doc$;
comment on column dispatch.run.requested_at is
$doc$When the wake was admitted; no merge, requeue or promotion moves it.$doc$;
comment on column dispatch.run.fire_at is
$doc$When a deferred run becomes due.$doc$;
comment on column dispatch.run.lease_expires_at is
$doc$Until when the claim is protected although the run was not started, or, for a started run
with a lease, until when it counts as alive. NULL: no lease.$doc$;
comment on index dispatch.run_pending_slot_idx is
$doc$Guarantees one run at most that was not started yet for an issue and agent, and names the
run that may absorb a further wake.$doc$;
comment on index dispatch.run_active_lane_idx is
$doc$Guarantees one active run a lane, and serves the count of an agent's active runs.$doc$;
comment on index dispatch.run_claim_order_idx is
$doc$Serves claims: the agents with queued runs on a runtime, and each one's best run.$doc$;
comment on index dispatch.run_queue_order_idx is
$doc$Serves claims: the runs of a runtime that come first, whoever their agents are.$doc$;
comment on index dispatch.run_shared_lane_idx is
$doc$Serves claims: the first queued run of a chat session or of an agent's quick-create lane,
the only lanes in which several runs may queue.$doc$;
comment on index dispatch.run_stale_dispatch_idx is
$doc$Serves reclaim: the oldest unconfirmed claims of a runtime.$doc$;
comment on index dispatch.run_armed_retry_idx is
$doc$Serves claims and promotion: the retries of an agent that wait for their time.$doc$;
comment on index dispatch.run_queued_since_idx is
$doc$Serves the sweep of runs that nobody claimed: the oldest first, counted from the request
or, for a deferred run, from when it was due.$doc$;
comment on index dispatch.run_finished_idx is
$doc$Serves retention: the runs that ended longest ago.$doc$;
comment on index dispatch.run_due_idx is
$doc$Serves promotion: the deferred runs of a runtime that are due.$doc$;

-- No fillfactor, for want of gain: with 70 instead of 100, 35 instead of 9 % of the completions
-- that keep a result are HOT and a run writes 4 % less WAL, but what is kept of it grows by a
-- sixth.
create table dispatch.run_detail (
    workspace_id uuid not null,
    run_id uuid not null,
    issue_id uuid,
    requested_at timestamptz not null,
    reason text not null,
    source text not null,
    payload jsonb not null,
    idempotency_key text,
    coalesced_count integer not null default 1,
    chat_session_id uuid,
    autopilot_run_id uuid,
    comment_id uuid,
    parent_run_id uuid,
    rerun_of_run_id uuid,
    escalation_for_run_id uuid,
    delegated_from_run_id uuid,
    follow_up_run_id uuid,
    actor_type text not null,
    actor_id uuid,
    originator_id uuid,
    accountable_id uuid,
    attribution_source text not null,
    evidence_kind text,
    evidence_id uuid,
    squad_id uuid,
    is_leader_run boolean not null default false,
    handoff_note text,
    session_id text,
    work_dir text,
    force_fresh boolean not null default false,
    result jsonb,
    failure_reason text,
    error text,
    wait_reason text,
    constraint run_detail_pkey primary key (workspace_id, run_id),
    constraint run_detail_actor_type_known check (actor_type in ('user', 'agent', 'system')),
    constraint run_detail_source_known check (
        source in (
            'assign', 'status', 'comment', 'mention', 'squad', 'autopilot', 'wake', 'retry',
            'rerun', 'child_done', 'escalation'
        )
    ),
    constraint run_detail_attribution_source_known check (
        attribution_source in (
            'direct_human', 'delegation', 'comment_source', 'trigger_owner', 'rule_owner',
            'owner_fallback'
        )
    ),
    -- The NOT NULL is needed: an unknown comparison would pass a check.
    constraint run_detail_originator_accountable check (
        originator_id is null
        or (accountable_id is not null and accountable_id = originator_id)
    ),
    constraint run_detail_key_not_empty check (idempotency_key <> '')
);

create unique index run_detail_key_idx
on dispatch.run_detail (workspace_id, idempotency_key)
where idempotency_key is not null;

create index run_detail_allowance_idx
on dispatch.run_detail (workspace_id, hashtextextended(payload ->> 'task_id', 0), requested_at)
where
    reason = 'task_assigned'
    and payload -> 'actor_type' = '"agent"'
    and jsonb_typeof(payload -> 'task_id') = 'string';

create index run_detail_issue_idx
on dispatch.run_detail (workspace_id, issue_id)
where issue_id is not null;

create index run_detail_parent_idx
on dispatch.run_detail (workspace_id, parent_run_id)
where parent_run_id is not null;

create index run_detail_comment_idx
on dispatch.run_detail (workspace_id, comment_id)
where comment_id is not null;

comment on table dispatch.run_detail is
$doc$The cold half of a run: what was asked, on whose authority, and what came of it.

Written at admission, by a merge, on entering the wait state and at the end; no claim writes it,
and a completion without result, session and work directory neither. With a payload of 100 bytes
it takes 420 B of an admission's WAL, its key included; a payload of 100 KiB is nearly all of
it.$doc$;
comment on column dispatch.run_detail.issue_id is
$doc$Copy of the run's issue, indexed here so that no transition pays for the index.$doc$;
comment on column dispatch.run_detail.idempotency_key is
$doc$Identity of the wake; taken for as long as the run is kept.$doc$;
comment on column dispatch.run_detail.coalesced_count is
$doc$How many wakes were merged into the run, itself included; absorbed ones are not
counted.$doc$;
comment on column dispatch.run_detail.comment_id is
$doc$The newest comment that the run stands for. It keeps the id of one that was deleted: a
foreign key would lock comments after runs, since runs hand their wakes to each other.$doc$;
comment on column dispatch.run_detail.parent_run_id is
$doc$The failed run of which this one is the automatic retry.$doc$;
comment on column dispatch.run_detail.delegated_from_run_id is
$doc$The run in which the acting agent asked for this one.$doc$;
comment on column dispatch.run_detail.follow_up_run_id is
$doc$The run queued for wakes that came too late for this one.$doc$;
comment on column dispatch.run_detail.originator_id is
$doc$The human whose authority the run uses; NULL when nobody's.$doc$;
comment on column dispatch.run_detail.accountable_id is
$doc$The human who answers for the run in audit; the originator where there is one.$doc$;
comment on column dispatch.run_detail.attribution_source is
$doc$How the accountable human was found.$doc$;
comment on column dispatch.run_detail.force_fresh is
$doc$True when neither session nor work directory of an earlier run may be resumed.$doc$;
comment on column dispatch.run_detail.error is
$doc$Error text of a failure, at most 64 KiB, cut at a character and marked beyond that.$doc$;
comment on column dispatch.run_detail.wait_reason is
$doc$Why the run waits; shown by the view runs only while it does.$doc$;
comment on index dispatch.run_detail_key_idx is
$doc$Guarantees one run an idempotency key.$doc$;
comment on index dispatch.run_detail_allowance_idx is
$doc$Serves the allowance: agent-initiated assignment wakes of one issue by time. Hashed, since
a long text would not fit an index row.$doc$;
comment on index dispatch.run_detail_issue_idx is
$doc$Serves an issue's runs, and its deletion.$doc$;
comment on index dispatch.run_detail_parent_idx is
$doc$Serves the look from a failed run to its retry.$doc$;
comment on index dispatch.run_detail_comment_idx is
$doc$Serves the edit and the deletion of a comment, which take back its runs, and replies, which
go to the agents that their thread has woken.$doc$;

-- fillfactor 70: equal wakes and each delivery update a row soon after its insert. For runs
-- that were woken four times, 76 instead of 30 % of these updates are HOT, a third of the dead
-- rows remain, and a run writes 13 % less WAL (5,800 instead of 6,690 B; 85: 58 % and 6,290 B).
create table dispatch.run_trigger (
    workspace_id uuid not null,
    run_id uuid not null,
    seq bigint not null,
    at timestamptz not null,
    last_at timestamptz not null,
    outcome dispatch.outcome not null,
    source text not null,
    reason text not null,
    payload jsonb not null,
    idempotency_key text,
    comment_id uuid,
    actor_type text not null,
    actor_id uuid,
    originator_id uuid,
    accountable_id uuid,
    attribution_source text not null,
    evidence_kind text,
    evidence_id uuid,
    delegated_from_run_id uuid,
    count integer not null default 1,
    delivered_count integer not null default 0,
    inherited boolean not null default false,
    constraint run_trigger_pkey primary key (workspace_id, run_id, seq),
    constraint run_trigger_count_range check (
        count >= 1 and delivered_count between 0 and count
    )
)
with (fillfactor = 70);

create index run_trigger_comment_idx
on dispatch.run_trigger (workspace_id, comment_id)
where comment_id is not null;

comment on table dispatch.run_trigger is
$doc$The wakes that a run stands for, kept once it stands for more than its own first one.

Equal wakes of one run are one row with a count, so a looping producer adds no rows.$doc$;
comment on index dispatch.run_trigger_comment_idx is
$doc$Serves the edit and the deletion of a comment, as run_detail_comment_idx does.$doc$;
comment on column dispatch.run_trigger.seq is
$doc$Order of arrival within the run, from 1.$doc$;
comment on column dispatch.run_trigger.last_at is
$doc$When the newest of the equal wakes arrived; at is the oldest.$doc$;
comment on column dispatch.run_trigger.delivered_count is
$doc$How many of the equal wakes the newest claim of the run delivered; the rest is owed.$doc$;
comment on column dispatch.run_trigger.inherited is
$doc$True for a row handed over from another run, where it was counted already.$doc$;

create table dispatch.deferred_assignment (
    workspace_id uuid not null,
    issue_id uuid not null,
    agent_id uuid not null,
    assignment_generation bigint not null,
    actor_type text not null,
    actor_id uuid,
    created_at timestamptz not null,
    resolved_at timestamptz,
    resolution text,
    originator_id uuid,
    accountable_id uuid,
    attribution_source text,
    delegated_from_run_id uuid,
    squad_id uuid,
    handoff_note text,
    constraint deferred_assignment_pkey primary key (workspace_id, issue_id),
    constraint deferred_assignment_resolution_known check (
        resolution in ('replayed', 'dropped')
    ),
    constraint deferred_assignment_resolution_whole check (
        (resolved_at is null) = (resolution is null)
    ),
    constraint deferred_assignment_actor_type_known check (
        actor_type in ('user', 'agent', 'system')
    )
);

create index deferred_assignment_open_idx
on dispatch.deferred_assignment (workspace_id, created_at)
where resolved_at is null;

comment on table dispatch.deferred_assignment is
$doc$The last assignment of an issue that a pause refused, for replay when the pause ends.$doc$;
comment on index dispatch.deferred_assignment_open_idx is
$doc$Serves the replay, oldest first.$doc$;
comment on column dispatch.deferred_assignment.resolution is
$doc$replayed or dropped; NULL while it waits.$doc$;

-- No storage parameters: rows are inserted and pruned, never updated.
create table dispatch.gate_event (
    workspace_id uuid not null,
    id uuid not null,
    at timestamptz not null,
    metric text not null,
    reason text not null,
    agent_id uuid,
    issue_id uuid,
    run_id uuid,
    actor_type text,
    actor_id uuid,
    detail jsonb not null default '{}',
    constraint gate_event_pkey primary key (workspace_id, id)
);

create index gate_event_at_idx on dispatch.gate_event (workspace_id, at);

comment on table dispatch.gate_event is
$doc$Wakes that a gate refused, found to be duplicates, or admitted although its own read
failed.

Append-only; rows keep the ids of what they speak of even after that is deleted.$doc$;
comment on index dispatch.gate_event_at_idx is
$doc$Serves pruning by age.$doc$;

create table dispatch.gate_total (
    workspace_id uuid not null,
    metric text not null,
    reason text not null,
    value bigint not null default 0,
    constraint gate_total_pkey primary key (workspace_id, metric, reason)
);

comment on table dispatch.gate_total is
$doc$Sums of pruned gate events and triggers.$doc$;

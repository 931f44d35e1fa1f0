-- 0001_core: the whole schema, frozen from sql/
-- depends:
-- locks: none on tables, all of them are new.  duration: instant, under a second for all of it.
-- compat: there is no older client.
-- undo: 0001_core.rollback.sql, refused while the schema holds anything.
set local lock_timeout = '2s';
set local statement_timeout = '1min';

-- Functions name tables and functions that a later file makes.
set local check_function_bodies = off;

-- begin sql/00_schema/dispatch.sql
-- CREATE SCHEMA IF NOT EXISTS asks for the right to create one even where it exists, which a
-- migrator lacks whose administrator has made the schema for it.
do $do$
begin
    if to_regnamespace('dispatch') is null then
        create schema dispatch;
    end if;
end;
$do$;

comment on schema dispatch is
$doc$Decide which writes start an agent run, keep the queue of runs, and say why nothing ran.

Callers use functions and views only; tables are private.$doc$;
-- end sql/00_schema/dispatch.sql

-- begin sql/10_types/10_outcome.sql
create type dispatch.outcome as enum (
    'queued', 'coalesced', 'deferred', 'deduplicated', 'absorbed', 'rate_limited', 'blocked',
    'none'
);

comment on type dispatch.outcome is
$doc$What became of a wake. "none" means that nothing was attempted, never that it was
refused.$doc$;
-- end sql/10_types/10_outcome.sql

-- begin sql/10_types/11_run_status.sql
create type dispatch.run_status as enum (
    'deferred', 'queued', 'dispatched', 'waiting_local_directory', 'running',
    'completed', 'failed', 'cancelled'
);

comment on type dispatch.run_status is
$doc$Where a run stands. The last three are terminal and never change again.$doc$;
-- end sql/10_types/11_run_status.sql

-- begin sql/10_types/12_reason_code.sql
create type dispatch.reason_code as enum (
    'queued', 'coalesced', 'deferred', 'duplicate_recent', 'duplicate_key', 'already_active',
    'allowance_exhausted', 'invocation_not_allowed', 'target_unavailable',
    'agent_runtime_required', 'runtime_offline', 'runtime_unusable', 'attribution_blocked',
    'paused', 'pause_unreadable', 'agent_not_runnable', 'self_trigger_suppressed',
    'internal_error', 'not_triggered'
);

comment on type dispatch.reason_code is
$doc$Why a wake ended as it did: set by the branch that decides, carried unchanged.$doc$;
-- end sql/10_types/12_reason_code.sql

-- begin sql/10_types/20_wake.sql
create type dispatch.wake as (
    agent_id uuid,
    reason text,
    source text,
    payload jsonb,
    idempotency_key text,
    issue_id uuid,
    chat_session_id uuid,
    autopilot_run_id uuid,
    comment_id uuid,
    priority integer,
    fire_at timestamptz,
    coalesce boolean,
    max_attempts integer,
    attempt integer,
    runtime_id uuid,
    actor_type text,
    actor_id uuid,
    acting_run_id uuid,
    originator_id uuid,
    accountable_id uuid,
    attribution_source text,
    evidence_kind text,
    evidence_id uuid,
    delegated_from_run_id uuid,
    parent_run_id uuid,
    rerun_of_run_id uuid,
    escalation_for_run_id uuid,
    squad_id uuid,
    is_leader_run boolean,
    handoff_note text,
    session_id text,
    work_dir text,
    force_fresh boolean,
    skip text[]
);

comment on type dispatch.wake is
$doc$One request to start an agent, as the admission seam takes it.

An attribute left NULL has the default of a plain wake. runtime_id, attempt and the stamped
attribution are given by retries and follow-ups only, which also name in skip the gates that do
not apply to them: agent, attribution, pause, duplicate, coalesce, allowance.$doc$;
-- end sql/10_types/20_wake.sql

-- begin sql/10_types/30_decision.sql
create type dispatch.decision as (
    outcome dispatch.outcome,
    reason_code dispatch.reason_code,
    run_id uuid,
    agent_id uuid,
    source text,
    detail jsonb
);

comment on type dispatch.decision is
$doc$What became of one wake.

run_id is the new, merged-into, absorbing or already existing run; NULL for rate_limited,
blocked and none.$doc$;
-- end sql/10_types/30_decision.sql

-- begin sql/10_types/31_issue_write.sql
create type dispatch.issue_write as (
    issue_id uuid,
    identifier text,
    assignment_generation bigint,
    outcome dispatch.outcome,
    reason_code dispatch.reason_code,
    run_id uuid,
    agent_id uuid,
    source text,
    detail jsonb
);

comment on type dispatch.issue_write is
$doc$An issue after a write, and what became of the wake that the write asked for.$doc$;
-- end sql/10_types/31_issue_write.sql

-- begin sql/10_types/32_preview.sql
create type dispatch.preview as (
    issue_id uuid,
    agent_id uuid,
    source text,
    will_run boolean,
    outcome dispatch.outcome,
    reason_code dispatch.reason_code,
    detail jsonb
);

comment on type dispatch.preview is
$doc$What a write to one issue would answer. will_run is outcome = queued.$doc$;
-- end sql/10_types/32_preview.sql

-- begin sql/10_types/33_transition.sql
create type dispatch.transition as (
    applied boolean,
    run_id uuid,
    status dispatch.run_status,
    claim_no integer,
    retry_run_id uuid,
    reason text,
    follow_up_run_id uuid
);

comment on type dispatch.transition is
$doc$The answer to a daemon's report about one run.

applied false means that nothing changed; reason is then the first that fits of not_found,
superseded, already_terminal, wrong_state, lease_expired. status and claim_no are the run's own
after the call. retry_run_id is the child that a failure queued, follow_up_run_id the run queued
for wakes that came too late for this one.$doc$;
-- end sql/10_types/33_transition.sql

-- begin sql/10_types/34_claimed_run.sql
create type dispatch.claimed_run as (
    run_id uuid,
    workspace_id uuid,
    agent_id uuid,
    runtime_id uuid,
    issue_id uuid,
    chat_session_id uuid,
    autopilot_run_id uuid,
    claim_no integer,
    attempt integer,
    priority integer,
    reason text,
    payload jsonb,
    triggers jsonb,
    requested_at timestamptz,
    dispatched_at timestamptz,
    lease_expires_at timestamptz,
    originator_id uuid,
    accountable_id uuid,
    attribution_source text,
    is_leader_run boolean,
    squad_id uuid,
    handoff_note text,
    session_id text,
    work_dir text,
    reclaimed boolean
);

comment on type dispatch.claimed_run is
$doc$A run that was handed to a daemon, with what the daemon needs to do it.

claim_no is the fence: every later report about this run must carry it. triggers holds the wakes
that the run stands for, in order of arrival. reclaimed is true when an earlier claim of it was
never confirmed.$doc$;
-- end sql/10_types/34_claimed_run.sql

-- begin sql/10_types/35_explanation.sql
create type dispatch.explanation as (
    step text,
    ok boolean,
    reason_code dispatch.reason_code,
    detail jsonb
);

comment on type dispatch.explanation is
$doc$One step on the way from an issue to its run.

ok is NULL when the step has nothing to look at, since an earlier one is in the way. reason_code
says why it is not ok, NULL where the run only waits for its turn.$doc$;
-- end sql/10_types/35_explanation.sql

-- begin sql/10_types/36_comment_answer.sql
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
-- end sql/10_types/36_comment_answer.sql

-- begin sql/10_types/40_candidate.sql
create type dispatch._candidate as (
    ord integer,
    run_id uuid,
    code dispatch.reason_code,
    wake dispatch.wake
);

comment on type dispatch._candidate is
$doc$A wake on its way through the gates: its place in the batch, the id that its run would get,
the code of the gate that blocked it (NULL while none did) and the wake with its attribution
stamped.$doc$;
-- end sql/10_types/40_candidate.sql

-- begin sql/10_types/41_ruling.sql
create type dispatch._ruling as (
    ord integer,
    decision dispatch.decision
);

comment on type dispatch._ruling is
$doc$A decision with the place of its wake in the batch.$doc$;
-- end sql/10_types/41_ruling.sql

-- begin sql/10_types/42_report.sql
create type dispatch._report as (
    ord integer,
    run_id uuid,
    claim_no integer,
    result jsonb,
    failure_reason text,
    error text,
    session_id text,
    work_dir text,
    session_lost boolean,
    lease interval
);

comment on type dispatch._report is
$doc$One daemon's report about one run, with its place in the batch.$doc$;
-- end sql/10_types/42_report.sql

-- begin sql/10_types/43_total.sql
create type dispatch._total as (
    metric text,
    reason text,
    value bigint
);

comment on type dispatch._total is
$doc$How much is added to one counter.$doc$;
-- end sql/10_types/43_total.sql

-- begin sql/10_types/44_target.sql
create type dispatch._target as (
    target_type text,
    target_id uuid,
    source text,
    is_dropped_quietly boolean,
    agent_id uuid,
    code dispatch.reason_code,
    run_id uuid
);

comment on type dispatch._target is
$doc$An agent or a squad that a comment asks for work, on its way to a wake.

source is mention or comment. is_dropped_quietly: nobody named it, so it is left out where it
cannot be woken. agent_id is who would run the work. code settles the target without a wake;
run_id is then the run that stands.$doc$;
-- end sql/10_types/44_target.sql

-- begin sql/20_tables/10_workspace.sql
create table dispatch.workspace (
    id uuid not null,
    name text not null,
    issue_prefix text not null,
    issue_counter bigint not null default 0,
    attribution_policy text not null default 'owner_fallback',
    created_at timestamptz not null,
    constraint workspace_pkey primary key (id),
    constraint workspace_id_real check (id <> '00000000-0000-0000-0000-000000000000'),
    constraint workspace_issue_prefix_shape check (issue_prefix ~ '^[A-Z][A-Z0-9]{1,9}$'),
    constraint workspace_attribution_policy_known check (
        attribution_policy in ('owner_fallback', 'fail_closed')
    )
);

comment on table dispatch.workspace is
$doc$The tenant. Every other row belongs to one, and nothing is found outside the caller's
own.$doc$;
comment on column dispatch.workspace.issue_prefix is
$doc$Leading letters of the identifiers of this workspace's issues, as ABC in ABC-42.$doc$;
comment on column dispatch.workspace.issue_counter is
$doc$Number of the issue created last; grows by one with each.$doc$;
comment on column dispatch.workspace.attribution_policy is
$doc$What happens to a wake for which no human answers: owner_fallback or fail_closed.$doc$;

create table dispatch.workspace_pause (
    workspace_id uuid not null,
    id uuid not null,
    reason text not null,
    paused_at timestamptz not null,
    paused_by_type text not null,
    paused_by_id uuid,
    released_at timestamptz,
    released_by_type text,
    released_by_id uuid,
    release_reason text,
    constraint workspace_pause_pkey primary key (workspace_id, id),
    constraint workspace_pause_reason_length check (char_length(reason) between 1 and 500),
    constraint workspace_pause_paused_by_type_known check (
        paused_by_type in ('user', 'agent', 'system')
    ),
    constraint workspace_pause_released_by_type_known check (
        released_by_type in ('user', 'agent', 'system')
    )
);

create unique index workspace_pause_one_open_idx
on dispatch.workspace_pause (workspace_id)
where released_at is null;

comment on table dispatch.workspace_pause is
$doc$Pause records, never changed but for their release. A workspace is paused while one is
open.$doc$;
comment on index dispatch.workspace_pause_one_open_idx is
$doc$Guarantees one open pause a workspace, and answers whether it is paused.$doc$;
comment on column dispatch.workspace_pause.released_at is
$doc$When the pause ended; NULL while it lasts.$doc$;
-- end sql/20_tables/10_workspace.sql

-- begin sql/20_tables/20_directory.sql
create table dispatch.member (
    workspace_id uuid not null,
    user_id uuid not null,
    name text not null,
    role text not null default 'member',
    created_at timestamptz not null,
    constraint member_pkey primary key (workspace_id, user_id),
    constraint member_user_id_real check (user_id <> '00000000-0000-0000-0000-000000000000'),
    constraint member_role_known check (role in ('owner', 'admin', 'member'))
);

comment on table dispatch.member is
$doc$A human of a workspace.$doc$;
comment on column dispatch.member.role is
$doc$owner, admin or member; a role never grants the right to invoke an agent.$doc$;

create table dispatch.team (
    workspace_id uuid not null,
    id uuid not null,
    name text not null,
    created_at timestamptz not null,
    constraint team_pkey primary key (workspace_id, id),
    constraint team_id_real check (id <> '00000000-0000-0000-0000-000000000000')
);

comment on table dispatch.team is
$doc$A named group of members, to whom an agent may be opened.$doc$;

create table dispatch.team_member (
    workspace_id uuid not null,
    team_id uuid not null,
    user_id uuid not null,
    constraint team_member_pkey primary key (workspace_id, team_id, user_id)
);

create index team_member_user_idx on dispatch.team_member (workspace_id, user_id);

comment on table dispatch.team_member is
$doc$Which members are in which team.$doc$;
comment on index dispatch.team_member_user_idx is
$doc$Serves the removal of a member from all teams.$doc$;

-- fillfactor 70: a heartbeat updates the row in place. Of 200 runtimes beating 50 times all
-- updates are HOT and 11 dead rows are left, instead of 107 without the room; 50 gains nothing.
create table dispatch.runtime (
    workspace_id uuid not null,
    id uuid not null,
    daemon_id text not null,
    name text not null,
    status text not null default 'offline',
    last_seen_at timestamptz,
    offline_reason text,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    constraint runtime_pkey primary key (workspace_id, id),
    constraint runtime_id_real check (id <> '00000000-0000-0000-0000-000000000000'),
    constraint runtime_status_known check (status in ('online', 'offline'))
)
with (fillfactor = 70);

comment on table dispatch.runtime is
$doc$A place where agents execute, served by one daemon.

Pages keep room because each heartbeat updates the row in place.$doc$;
comment on column dispatch.runtime.daemon_id is
$doc$The process that serves this runtime; one claim serves the runtimes of one daemon.$doc$;
comment on column dispatch.runtime.status is
$doc$online from a heartbeat until a sweep or set_runtime_offline says otherwise.$doc$;
comment on column dispatch.runtime.last_seen_at is
$doc$The last heartbeat. A runtime is fresh while it is online and was seen within
runtime_freshness().$doc$;
comment on column dispatch.runtime.offline_reason is
$doc$Why it went offline; not_executable makes its agents unusable rather than waiting.$doc$;

-- No storage parameters: claims lock the row and write no version of it.
create table dispatch.agent (
    workspace_id uuid not null,
    id uuid not null,
    name text not null,
    owner_id uuid,
    runtime_id uuid,
    permission text not null default 'private',
    max_concurrent_runs integer not null default 6,
    status text not null default 'active',
    archived_at timestamptz,
    created_at timestamptz not null,
    constraint agent_pkey primary key (workspace_id, id),
    constraint agent_id_real check (id <> '00000000-0000-0000-0000-000000000000'),
    constraint agent_permission_known check (permission in ('private', 'public_to')),
    constraint agent_capacity_range check (max_concurrent_runs between 1 and 50),
    constraint agent_status_known check (
        status in ('active', 'paused', 'stopped', 'pending_approval')
    )
);

create index agent_runtime_idx on dispatch.agent (workspace_id, runtime_id);
create index agent_owner_idx on dispatch.agent (workspace_id, owner_id);

comment on table dispatch.agent is
$doc$An AI worker: owned by a human, bound to at most one runtime, with a capacity.$doc$;
comment on index dispatch.agent_runtime_idx is
$doc$Serves the deletion of a workspace, whose runtimes no agent may still use.$doc$;
comment on index dispatch.agent_owner_idx is
$doc$Serves the removal of a member who owns agents.$doc$;
comment on column dispatch.agent.owner_id is
$doc$The human who owns the agent; NULL once that member was removed.$doc$;
comment on column dispatch.agent.permission is
$doc$private: only the owner may invoke it. public_to: the grants decide as well.$doc$;
comment on column dispatch.agent.max_concurrent_runs is
$doc$Capacity: how many of its runs may be dispatched, waiting or running at once, 1 to
50.$doc$;
comment on column dispatch.agent.status is
$doc$Only an active agent is woken and claimed for.$doc$;
comment on column dispatch.agent.archived_at is
$doc$When it was archived; NULL while it is in use.$doc$;

create table dispatch.agent_grant (
    workspace_id uuid not null,
    agent_id uuid not null,
    target_type text not null,
    target_id uuid not null,
    created_at timestamptz not null,
    constraint agent_grant_pkey primary key (workspace_id, agent_id, target_type, target_id),
    constraint agent_grant_target_type_known check (
        target_type in ('workspace', 'member', 'team')
    ),
    constraint agent_grant_workspace_target check (
        target_type <> 'workspace' or target_id = workspace_id
    )
);

create index agent_grant_target_idx
on dispatch.agent_grant (workspace_id, target_type, target_id);

comment on table dispatch.agent_grant is
$doc$To whom an agent with permission public_to is open.$doc$;
comment on index dispatch.agent_grant_target_idx is
$doc$Serves the removal of a member, whose grants go with them.$doc$;
comment on column dispatch.agent_grant.target_id is
$doc$The member or team; for a workspace target the workspace itself.$doc$;

create table dispatch.squad (
    workspace_id uuid not null,
    id uuid not null,
    name text not null,
    leader_id uuid not null,
    archived_at timestamptz,
    created_at timestamptz not null,
    constraint squad_pkey primary key (workspace_id, id),
    constraint squad_id_real check (id <> '00000000-0000-0000-0000-000000000000')
);

comment on table dispatch.squad is
$doc$An assignable group; whoever leads it at the time of a wake does the work.$doc$;
comment on column dispatch.squad.archived_at is
$doc$When it was archived; NULL while it is in use.$doc$;
-- end sql/20_tables/20_directory.sql

-- begin sql/20_tables/30_issue.sql
-- fillfactor 85: assignments and moves on the board update rows long after their insert. Of an
-- issue's first two such updates 96 instead of 87 % are HOT, and no vacuum is called for; 70
-- makes it 100 % and saves 1.6 % of the WAL, for pages that stay emptier.
create table dispatch.issue (
    workspace_id uuid not null,
    id uuid not null,
    number bigint not null,
    title text not null,
    status text not null,
    priority text not null,
    assignee_type text,
    assignee_id uuid,
    assignment_generation bigint not null default 0,
    creator_type text not null,
    creator_id uuid,
    origin_type text,
    origin_id uuid,
    parent_id uuid,
    stage integer,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    constraint issue_pkey primary key (workspace_id, id),
    constraint issue_id_real check (id <> '00000000-0000-0000-0000-000000000000'),
    constraint issue_number_key unique (workspace_id, number),
    constraint issue_status_known check (
        status in (
            'backlog', 'todo', 'in_progress', 'in_review', 'blocked', 'done', 'cancelled'
        )
    ),
    constraint issue_priority_known check (
        priority in ('urgent', 'high', 'medium', 'low', 'none')
    ),
    constraint issue_assignee_type_known check (assignee_type in ('agent', 'squad', 'member')),
    constraint issue_assignee_whole check ((assignee_type is null) = (assignee_id is null)),
    constraint issue_creator_type_known check (creator_type in ('user', 'agent', 'system')),
    constraint issue_stage_positive check (stage >= 0)
)
with (fillfactor = 85);

create index issue_parent_idx
on dispatch.issue (workspace_id, parent_id)
where parent_id is not null;

comment on table dispatch.issue is
$doc$A work item of the board.$doc$;
comment on index dispatch.issue_parent_idx is
$doc$Serves the deletion of a parent and the look at a parent's children.$doc$;
comment on column dispatch.issue.number is
$doc$Number within the workspace, as 42 in ABC-42; never used twice.$doc$;
comment on column dispatch.issue.assignment_generation is
$doc$How many writes set or cleared the assignee; 0 means it never had one. Part of the
identity of each assignment's wake.$doc$;
comment on column dispatch.issue.origin_type is
$doc$What made the issue when it was no human: agent_create with the acting run as
origin_id.$doc$;
comment on column dispatch.issue.stage is
$doc$Order of the issue among its siblings; siblings of one stage are worked on together.$doc$;

create table dispatch.comment (
    workspace_id uuid not null,
    id uuid not null,
    issue_id uuid not null,
    author_type text not null,
    author_id uuid,
    body text not null,
    mentions jsonb not null default '[]',
    parent_id uuid,
    source_run_id uuid,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    constraint comment_pkey primary key (workspace_id, id),
    constraint comment_author_type_known check (author_type in ('user', 'agent', 'system'))
);

create index comment_issue_idx on dispatch.comment (workspace_id, issue_id, created_at);
create index comment_parent_idx
on dispatch.comment (workspace_id, parent_id)
where parent_id is not null;

comment on table dispatch.comment is
$doc$What people and agents wrote on an issue.$doc$;
comment on index dispatch.comment_issue_idx is
$doc$Serves an issue's comments in order, and its deletion.$doc$;
comment on index dispatch.comment_parent_idx is
$doc$Serves the replies of a comment, and its deletion.$doc$;
comment on column dispatch.comment.source_run_id is
$doc$The run in which an agent wrote it; through it the run's originator is inherited.$doc$;
-- end sql/20_tables/30_issue.sql

-- begin sql/20_tables/40_run.sql
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
-- end sql/20_tables/40_run.sql

-- begin sql/25_constraints/foreign_keys.sql
alter table dispatch.workspace_pause
add constraint workspace_pause_workspace_fkey
foreign key (workspace_id) references dispatch.workspace (id);

alter table dispatch.member
add constraint member_workspace_fkey
foreign key (workspace_id) references dispatch.workspace (id);

alter table dispatch.team
add constraint team_workspace_fkey
foreign key (workspace_id) references dispatch.workspace (id);

alter table dispatch.team_member
add constraint team_member_team_fkey
foreign key (workspace_id, team_id) references dispatch.team (workspace_id, id),
add constraint team_member_member_fkey
foreign key (workspace_id, user_id) references dispatch.member (workspace_id, user_id);

alter table dispatch.runtime
add constraint runtime_workspace_fkey
foreign key (workspace_id) references dispatch.workspace (id);

alter table dispatch.agent
add constraint agent_workspace_fkey
foreign key (workspace_id) references dispatch.workspace (id),
add constraint agent_owner_fkey
foreign key (workspace_id, owner_id) references dispatch.member (workspace_id, user_id),
add constraint agent_runtime_fkey
foreign key (workspace_id, runtime_id) references dispatch.runtime (workspace_id, id);

alter table dispatch.agent_grant
add constraint agent_grant_agent_fkey
foreign key (workspace_id, agent_id) references dispatch.agent (workspace_id, id);

alter table dispatch.squad
add constraint squad_workspace_fkey
foreign key (workspace_id) references dispatch.workspace (id),
add constraint squad_leader_fkey
foreign key (workspace_id, leader_id) references dispatch.agent (workspace_id, id);

alter table dispatch.issue
add constraint issue_workspace_fkey
foreign key (workspace_id) references dispatch.workspace (id),
add constraint issue_parent_fkey
foreign key (workspace_id, parent_id) references dispatch.issue (workspace_id, id);

alter table dispatch.comment
add constraint comment_issue_fkey
foreign key (workspace_id, issue_id) references dispatch.issue (workspace_id, id)
on delete cascade,
add constraint comment_parent_fkey
foreign key (workspace_id, parent_id) references dispatch.comment (workspace_id, id)
on delete cascade;

-- The run's issue is held by run_detail alone: there it has an index that no transition pays
-- for.
alter table dispatch.run
add constraint run_agent_fkey
foreign key (workspace_id, agent_id) references dispatch.agent (workspace_id, id),
add constraint run_runtime_fkey
foreign key (workspace_id, runtime_id) references dispatch.runtime (workspace_id, id);

alter table dispatch.run_detail
add constraint run_detail_run_fkey
foreign key (workspace_id, run_id) references dispatch.run (workspace_id, id)
on delete cascade,
add constraint run_detail_issue_fkey
foreign key (workspace_id, issue_id) references dispatch.issue (workspace_id, id);

alter table dispatch.run_trigger
add constraint run_trigger_run_fkey
foreign key (workspace_id, run_id) references dispatch.run (workspace_id, id)
on delete cascade;

alter table dispatch.deferred_assignment
add constraint deferred_assignment_issue_fkey
foreign key (workspace_id, issue_id) references dispatch.issue (workspace_id, id)
on delete cascade,
add constraint deferred_assignment_agent_fkey
foreign key (workspace_id, agent_id) references dispatch.agent (workspace_id, id);

alter table dispatch.gate_event
add constraint gate_event_workspace_fkey
foreign key (workspace_id) references dispatch.workspace (id);

alter table dispatch.gate_total
add constraint gate_total_workspace_fkey
foreign key (workspace_id) references dispatch.workspace (id);
-- end sql/25_constraints/foreign_keys.sql

-- begin sql/30_functions/access/_acting_run_originator.sql
-- The status is compared with a variable, so that the key's index is the only one that offers
-- itself.
create or replace function dispatch._acting_run_originator(
    p_workspace_id uuid,
    p_agent_id uuid,
    p_acting_run_id uuid
)
returns uuid
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_active constant dispatch.run_status[] := array[
        'dispatched', 'waiting_local_directory', 'running'
    ]::dispatch.run_status[];
    v_originator uuid;
begin
    if p_acting_run_id is null then
        return null;
    end if;
    select d.originator_id
    into v_originator
    from dispatch.run as r
    inner join dispatch.run_detail as d
        on d.workspace_id = r.workspace_id and d.run_id = r.id
    where r.workspace_id = p_workspace_id
        and d.workspace_id = p_workspace_id
        and r.id = p_acting_run_id
        and r.agent_id = p_agent_id
        and r.status = any(v_active);
    if not found then
        perform dispatch._raise(
            'PD403', 'acting run not active', 'p_acting_run_id',
            'name an active run of the acting agent.', 'attribution_blocked'
        );
    end if;
    return v_originator;
end;
$fn$;

comment on function dispatch._acting_run_originator(uuid, uuid, uuid) is
$doc$Give the originator of the run in which an agent acts; NULL without a run or originator.

Errors: PD403 (DETAIL attribution_blocked) the run is not an active run of that agent.$doc$;
-- end sql/30_functions/access/_acting_run_originator.sql

-- begin sql/30_functions/access/_may_invoke.sql
-- Denies by default: an unknown permission, target type or user matches nothing.
create or replace function dispatch._may_invoke(
    p_workspace_id uuid,
    p_agent_id uuid,
    p_actor_type text,
    p_effective_user_id uuid
)
returns boolean
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_owner uuid;
    v_permission text;
begin
    select a.owner_id, a.permission
    into v_owner, v_permission
    from dispatch.agent as a
    where a.workspace_id = p_workspace_id and a.id = p_agent_id;
    if not found then
        return false;
    end if;
    if p_effective_user_id = v_owner then
        return true;
    end if;
    if v_permission is distinct from 'public_to' then
        return false;
    end if;
    return exists (
        select from dispatch.agent_grant as g
        where g.workspace_id = p_workspace_id
            and g.agent_id = p_agent_id
            and (
                (
                    g.target_type = 'workspace'
                    and (
                        p_actor_type in ('agent', 'system')
                        or exists (
                            select from dispatch.member as m
                            where m.workspace_id = p_workspace_id
                                and m.user_id = p_effective_user_id
                        )
                    )
                )
                or (g.target_type = 'member' and g.target_id = p_effective_user_id)
                or (
                    g.target_type = 'team'
                    and exists (
                        select from dispatch.team_member as t
                        where t.workspace_id = p_workspace_id
                            and t.team_id = g.target_id
                            and t.user_id = p_effective_user_id
                    )
                )
            )
    );
end;
$fn$;

comment on function dispatch._may_invoke(uuid, uuid, text, uuid) is
$doc$Decide whether the human at the top of the chain may start the agent.

p_effective_user_id is the member who acts, or the originator of an acting agent or of the
system; NULL when nobody. The agent that speaks never counts, nor does a member's role. An
unknown agent is refused like a private one.
Errors: none.$doc$;
-- end sql/30_functions/access/_may_invoke.sql

-- begin sql/30_functions/access/_may_view.sql
create or replace function dispatch._may_view(
    p_workspace_id uuid,
    p_agent_id uuid,
    p_actor_type text,
    p_actor_id uuid
)
returns boolean
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    if p_actor_type in ('agent', 'system') then
        return true;
    end if;
    return exists (
        select
        from dispatch.member as m
        inner join dispatch.agent as a
            on a.workspace_id = m.workspace_id and a.id = p_agent_id
        where m.workspace_id = p_workspace_id
            and a.workspace_id = p_workspace_id
            and m.user_id = p_actor_id
            and (
                a.owner_id = m.user_id
                or m.role in ('owner', 'admin')
                or (
                    a.permission = 'public_to'
                    and exists (
                        select
                        from dispatch.agent_grant as g
                        where g.workspace_id = p_workspace_id
                            and g.agent_id = a.id
                            and (
                                g.target_type = 'workspace'
                                or (g.target_type = 'member' and g.target_id = m.user_id)
                                or (
                                    g.target_type = 'team'
                                    and exists (
                                        select
                                        from dispatch.team_member as t
                                        where t.workspace_id = p_workspace_id
                                            and t.team_id = g.target_id
                                            and t.user_id = m.user_id
                                    )
                                )
                            )
                    )
                )
            )
    );
end;
$fn$;

comment on function dispatch._may_view(uuid, uuid, text, uuid) is
$doc$Decide whether an actor may see an agent's runs, which is less than to start one.

Agents and the system may; of the members the owner, the workspace's owners and admins, and
those to whom the agent is open. Rule: issue-to-run 6.
Errors: none.$doc$;
-- end sql/30_functions/access/_may_view.sql

-- begin sql/30_functions/access/_resolve_actor.sql
-- An acting run proves for whom an agent acts, so one that is unknown, ended or another agent's
-- is refused whole instead of being ignored.
create or replace function dispatch._resolve_actor(
    p_workspace_id uuid,
    p_actor_type text,
    p_actor_id uuid,
    p_acting_run_id uuid,
    out originator_id uuid
)
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    perform dispatch._check_word(
        'p_actor_type', p_actor_type, array['user', 'agent', 'system']
    );
    perform dispatch._check_optional_ids(
        array['p_actor_id', 'p_acting_run_id'], array[p_actor_id, p_acting_run_id]
    );
    if p_actor_type = 'agent' and p_actor_id is null then
        perform dispatch._raise(
            'PD400', 'argument missing', 'p_actor_id', 'an acting agent must be named.'
        );
    elsif p_actor_type <> 'agent' and p_acting_run_id is not null then
        perform dispatch._raise(
            'PD400', 'run given for no agent', 'p_acting_run_id', 'only an agent acts in a run.'
        );
    end if;

    if p_actor_type = 'user' and p_actor_id is not null then
        if not exists (
            select from dispatch.member as m
            where m.workspace_id = p_workspace_id and m.user_id = p_actor_id
        ) then
            perform dispatch._raise(
                'PD403', 'actor is no member', 'p_actor_id', 'act as a member of the workspace.'
            );
        end if;
        originator_id := p_actor_id;
    elsif p_actor_type = 'agent' then
        if not exists (
            select from dispatch.agent as a
            where a.workspace_id = p_workspace_id and a.id = p_actor_id
        ) then
            perform dispatch._raise(
                'PD403', 'actor is no agent', 'p_actor_id', 'act as an agent of the workspace.'
            );
        end if;
        originator_id := dispatch._acting_run_originator(
            p_workspace_id, p_actor_id, p_acting_run_id
        );
    end if;
end;
$fn$;

comment on function dispatch._resolve_actor(uuid, text, uuid, uuid) is
$doc$Check who acts, and give the human at the top of the chain: NULL when nobody's.

A member acts for themselves, an agent for the originator of its acting run, the system and a
user without an id for nobody.
Errors: PD400 unknown word, missing or all-zero id, run given for no agent; PD403 actor is no
member or no agent of the workspace, or (DETAIL attribution_blocked) the acting run is not an
active run of the acting agent.$doc$;
-- end sql/30_functions/access/_resolve_actor.sql

-- begin sql/30_functions/access/can_invoke_agent.sql
create or replace function dispatch.can_invoke_agent(
    p_workspace_id uuid,
    p_agent_id uuid,
    p_actor_type text,
    p_actor_id uuid default null,
    p_acting_run_id uuid default null,
    p_originator_id uuid default null
)
returns boolean
language plpgsql
stable
parallel safe
security definer
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_user uuid;
begin
    perform dispatch._check_ids(
        array['p_workspace_id', 'p_agent_id'], array[p_workspace_id, p_agent_id]
    );
    perform dispatch._check_word(
        'p_actor_type', p_actor_type, array['user', 'agent', 'system']
    );
    perform dispatch._check_optional_ids(
        array['p_actor_id', 'p_acting_run_id', 'p_originator_id'],
        array[p_actor_id, p_acting_run_id, p_originator_id]
    );
    if p_actor_type = 'agent' and p_actor_id is null then
        perform dispatch._raise(
            'PD400', 'argument missing', 'p_actor_id', 'an acting agent must be named.'
        );
    end if;
    v_user := case p_actor_type
        when 'user' then p_actor_id
        when 'agent' then coalesce(
            dispatch._acting_run_originator(p_workspace_id, p_actor_id, p_acting_run_id),
            p_originator_id
        )
        else p_originator_id
    end;
    return dispatch._may_invoke(p_workspace_id, p_agent_id, p_actor_type, v_user);
end;
$fn$;

comment on function dispatch.can_invoke_agent(uuid, uuid, text, uuid, uuid, uuid) is
$doc$Tell whether an actor may start an agent.

A user is judged by themselves, an agent or the system by the originator: that of the acting
run, else p_originator_id. The owner may; with permission public_to also those whom a grant
names: a workspace grant admits members, agents and the system, a member grant that member, a
team grant whoever is in the team. Roles grant nothing. An unknown or foreign agent is false
like a private one. Rule: issue-to-run 6.
Errors: PD400 missing, unknown or all-zero argument; PD403 (DETAIL attribution_blocked) the
acting run is not an active run of the acting agent.$doc$;
-- end sql/30_functions/access/can_invoke_agent.sql

-- begin sql/30_functions/admission/_absorb_wake.sql
create or replace function dispatch._absorb_wake(
    p_workspace_id uuid,
    p_run_id uuid,
    p_wake dispatch.wake,
    p_now timestamptz
)
returns dispatch.decision
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    if dispatch._may_coalesce(p_workspace_id, p_run_id, p_wake, p_now) then
        perform dispatch._merge_wake(p_workspace_id, p_run_id, p_wake, p_now);
        return row(
            'coalesced', 'coalesced', p_run_id, p_wake.agent_id, p_wake.source, null
        )::dispatch.decision;
    end if;
    -- A retry or a follow-up that finds the slot taken hands its wakes over by itself.
    if p_wake.skip is null or not 'record' = any(p_wake.skip) then
        perform dispatch._record_wake(p_workspace_id, p_run_id, p_wake, 'absorbed', p_now);
    end if;
    return row(
        'absorbed', 'already_active', p_run_id, p_wake.agent_id, p_wake.source, null
    )::dispatch.decision;
end;
$fn$;

comment on function dispatch._absorb_wake(uuid, uuid, dispatch.wake, timestamptz) is
$doc$Gates 5 and 6: merge a wake into the run that holds its pending slot, or record it there.

The caller holds the run row and has seen it queued or dispatched under that lock.
Errors: none.$doc$;
-- end sql/30_functions/admission/_absorb_wake.sql

-- begin sql/30_functions/admission/_admit_round.sql
-- Locks: run rows through _settle_wake, then what the inserts wait for. The loser of the pair's
-- index looks for the slot again, the loser of the key's answers with the run that has the key.
create or replace function dispatch._admit_round(
    p_workspace_id uuid,
    p_round dispatch._candidate[],
    p_now timestamptz
)
returns dispatch._ruling[]
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_left dispatch._candidate[] := p_round;
    v_open dispatch._candidate[];
    v_rulings dispatch._ruling[] := '{}'::dispatch._ruling[];
    v_runs dispatch.run[];
    v_details dispatch.run_detail[];
    v_runtimes uuid[] := '{}'::uuid[];
    v_held uuid[];
    v_c dispatch._candidate;
    v_decision dispatch.decision;
    v_count bigint;
begin
    for v_try in 1..4 loop
        v_held := null;
        if cardinality(p_round) > 1 then
            v_held := dispatch._lock_holders(p_workspace_id, v_left);
        end if;
        v_open := '{}'::dispatch._candidate[];
        v_runs := '{}'::dispatch.run[];
        v_details := '{}'::dispatch.run_detail[];
        foreach v_c in array v_left loop
            v_decision := dispatch._settle_wake(p_workspace_id, v_c.wake, v_held, p_now);
            if v_decision.outcome is not null then
                v_rulings := v_rulings || row(v_c.ord, v_decision)::dispatch._ruling;
            else
                v_open := v_open || v_c;
                v_runs := v_runs || dispatch._run_row(
                    p_workspace_id, v_c.run_id, v_c.wake, p_now
                );
                v_details := v_details || dispatch._detail_row(
                    p_workspace_id, v_c.run_id, v_c.wake, p_now
                );
            end if;
        end loop;
        v_left := '{}'::dispatch._candidate[];
        exit when cardinality(v_open) = 0;

        v_count := dispatch._insert_runs(p_workspace_id, v_runs, v_details);
        foreach v_c in array v_open loop
            if v_count = cardinality(v_open)
                or dispatch._has_detail(p_workspace_id, v_c.run_id)
            then
                v_decision := dispatch._insert_decision(v_c.run_id, v_c.wake);
                if v_decision.outcome = 'queued'
                    and not (v_c.wake).runtime_id = any(v_runtimes)
                then
                    v_runtimes := v_runtimes || (v_c.wake).runtime_id;
                end if;
            else
                v_decision := dispatch._take_back(p_workspace_id, v_c.run_id, v_c.wake);
            end if;
            if v_decision.outcome is not null then
                v_rulings := v_rulings || row(v_c.ord, v_decision)::dispatch._ruling;
            else
                v_left := v_left || v_c;
            end if;
        end loop;
        exit when cardinality(v_left) = 0;
    end loop;
    if cardinality(v_left) > 0 then
        perform dispatch._raise(
            'PD409', 'pending slot contended', 'p_issue_id', 'try the call again.'
        );
    end if;
    perform dispatch._notify_runtimes(v_runtimes);
    return v_rulings;
end;
$fn$;

comment on function dispatch._admit_round(uuid, dispatch._candidate[], timestamptz) is
$doc$Take independent candidates through gates 4 to 8 and insert the runs of those that pass.

Returns one decision a candidate, in no
order.
Errors: PD409 the pending slot changed hands in four rounds.$doc$;
-- end sql/30_functions/admission/_admit_round.sql

-- begin sql/30_functions/admission/_admit_wakes.sql
-- Locks: agents FOR KEY SHARE, then runs, each by id. The instant is read once, after the
-- agents' locks, and stamps everything that is written or compared.
create or replace function dispatch._admit_wakes(p_workspace_id uuid, p_wakes dispatch.wake[])
returns setof dispatch.decision
language plpgsql
volatile
parallel unsafe
rows 10
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set jit = off
as $fn$
declare
    v_now timestamptz;
    v_candidates dispatch._candidate[];
    v_c dispatch._candidate;
    v_open dispatch._candidate[] := '{}'::dispatch._candidate[];
    v_round dispatch._candidate[];
    v_ruling dispatch._ruling;
    v_decision dispatch.decision;
    v_decisions dispatch.decision[] := '{}'::dispatch.decision[];
begin
    if cardinality(p_wakes) = 1 then
        perform dispatch._lock_agents(p_workspace_id, array[(p_wakes[1]).agent_id]);
    else
        perform dispatch._lock_agents(
            p_workspace_id, array(select w.agent_id from unnest(p_wakes) as w)
        );
    end if;
    v_now := dispatch.clock();
    v_candidates := dispatch._gate_wakes(p_workspace_id, p_wakes, v_now);
    foreach v_c in array v_candidates loop
        if v_c.code is null then
            v_open := v_open || v_c;
        else
            v_decisions[v_c.ord] := dispatch._blocked_decision(v_c.wake, v_c.code);
        end if;
    end loop;

    while cardinality(v_open) > 0 loop
        v_round := v_open;
        if cardinality(v_open) > 1 then
            v_round := dispatch._next_round(v_open);
        end if;
        foreach v_ruling in array dispatch._admit_round(p_workspace_id, v_round, v_now) loop
            v_decisions[v_ruling.ord] := v_ruling.decision;
        end loop;
        v_open := dispatch._without(v_open, v_round);
    end loop;

    foreach v_c in array v_candidates loop
        v_decision := v_decisions[v_c.ord];
        if v_decision.outcome in ('deduplicated', 'rate_limited', 'blocked') then
            perform dispatch._record_gate_event(
                p_workspace_id, v_now, v_decision.reason_code::text, v_c.wake,
                v_decision.run_id, v_decision.detail
            );
            if v_decision.reason_code = 'paused' then
                perform dispatch._remember_assignment(p_workspace_id, v_c.wake, v_now);
            end if;
        end if;
        return next v_decision;
    end loop;
end;
$fn$;

comment on function dispatch._admit_wakes(uuid, dispatch.wake[]) is
$doc$Take wakes through all gates, in the order given, and insert the runs of those that pass.

Returns one decision a wake in the same order; each wake sees the decisions before it. Gates:
agent, attribution, pause, duplicate, coalesce, pending slot, allowance, insert. Arguments were
checked by the caller; issue ids must be real and held by a lock.
Errors: PD409 the pending slot changed hands in four rounds.$doc$;
-- end sql/30_functions/admission/_admit_wakes.sql

-- begin sql/30_functions/admission/_agent_verdict.sql
create or replace function dispatch._agent_verdict(
    p_is_found boolean,
    p_is_archived boolean,
    p_is_bound boolean,
    p_is_executable boolean,
    p_status text
)
returns dispatch.reason_code
language sql
stable
parallel safe
as $fn$
select case
    when not coalesce(p_is_found, false) then 'invocation_not_allowed'::dispatch.reason_code
    when p_is_archived then 'target_unavailable'
    when not p_is_bound then 'agent_runtime_required'
    when not p_is_executable then 'runtime_unusable'
    when p_status is distinct from 'active' then 'agent_not_runnable'
end;
$fn$;

comment on function dispatch._agent_verdict(boolean, boolean, boolean, boolean, text) is
$doc$Give the code with which gate 1 blocks an agent; NULL when it may be woken.

The first that fits: not in the workspace, archived, bound to no runtime, its runtime not
executable, not active. An offline runtime does not block: the run waits.
Errors: none.$doc$;
-- end sql/30_functions/admission/_agent_verdict.sql

-- begin sql/30_functions/admission/_blocked_decision.sql
create or replace function dispatch._blocked_decision(
    p_wake dispatch.wake,
    p_code dispatch.reason_code
)
returns dispatch.decision
language sql
immutable
parallel safe
as $fn$
select row(
    'blocked', p_code, null,
    case when p_code <> 'invocation_not_allowed' then (p_wake).agent_id end,
    (p_wake).source, null
)::dispatch.decision;
$fn$;

comment on function dispatch._blocked_decision(dispatch.wake, dispatch.reason_code) is
$doc$Answer a wake that one of the gates 1 to 3 blocks; an agent that is not there is not named.

Errors: none.$doc$;
-- end sql/30_functions/admission/_blocked_decision.sql

-- begin sql/30_functions/admission/_detail_row.sql
create or replace function dispatch._detail_row(
    p_workspace_id uuid,
    p_run_id uuid,
    p_wake dispatch.wake,
    p_now timestamptz
)
returns dispatch.run_detail
language sql
immutable
parallel safe
as $fn$
select row(
    p_workspace_id, p_run_id, (p_wake).issue_id, p_now, (p_wake).reason, (p_wake).source,
    (p_wake).payload, (p_wake).idempotency_key, 1, (p_wake).chat_session_id,
    (p_wake).autopilot_run_id, (p_wake).comment_id, (p_wake).parent_run_id,
    (p_wake).rerun_of_run_id, (p_wake).escalation_for_run_id, (p_wake).delegated_from_run_id,
    null, (p_wake).actor_type, (p_wake).actor_id, (p_wake).originator_id,
    (p_wake).accountable_id, (p_wake).attribution_source, (p_wake).evidence_kind,
    (p_wake).evidence_id, (p_wake).squad_id, (p_wake).is_leader_run, (p_wake).handoff_note,
    (p_wake).session_id, (p_wake).work_dir, (p_wake).force_fresh, null, null, null, null
)::dispatch.run_detail;
$fn$;

comment on function dispatch._detail_row(uuid, uuid, dispatch.wake, timestamptz) is
$doc$Make the details of the run that a wake becomes at p_now.

Errors: none.$doc$;
-- end sql/30_functions/admission/_detail_row.sql

-- begin sql/30_functions/admission/_duplicate_decision.sql
create or replace function dispatch._duplicate_decision(
    p_workspace_id uuid,
    p_wake dispatch.wake,
    p_run_id uuid,
    p_code dispatch.reason_code
)
returns dispatch.decision
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_agent uuid;
    v_status dispatch.run_status;
begin
    select r.agent_id, r.status
    into v_agent, v_status
    from dispatch.run as r
    where r.workspace_id = p_workspace_id and r.id = p_run_id;
    if v_agent = p_wake.agent_id then
        return row(
            'deduplicated', p_code, p_run_id, v_agent, p_wake.source,
            jsonb_build_object('status', v_status)
        )::dispatch.decision;
    end if;
    return row(
        'deduplicated', p_code, p_run_id, null, p_wake.source, null
    )::dispatch.decision;
end;
$fn$;

comment on function dispatch._duplicate_decision(
    uuid, dispatch.wake, uuid, dispatch.reason_code
) is
$doc$Answer a wake whose key is taken by p_run_id.

Names the agent, and the run's status in detail, only when that run is the asked agent's.
Errors: none.$doc$;
-- end sql/30_functions/admission/_duplicate_decision.sql

-- begin sql/30_functions/admission/_find_duplicate.sql
create or replace function dispatch._find_duplicate(
    p_workspace_id uuid,
    p_idempotency_key text,
    p_at timestamptz
)
returns uuid
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_run uuid;
begin
    select d.run_id
    into v_run
    from dispatch.run_detail as d
    where d.workspace_id = p_workspace_id
        and d.idempotency_key = p_idempotency_key
        and d.requested_at > p_at - dispatch.duplicate_window();
    return v_run;
end;
$fn$;

comment on function dispatch._find_duplicate(uuid, text, timestamptz) is
$doc$Gate 4: give the run that makes a wake with this key a recent duplicate at p_at; NULL when
none.

Looks at every agent and status; a run exactly duplicate_window() old is left to the insert.
Errors: none of its own; one of the read reaches the caller and nothing is written.$doc$;
-- end sql/30_functions/admission/_find_duplicate.sql

-- begin sql/30_functions/admission/_gate_wakes.sql
-- Judges wake by wake with look-ups by key, since a statement over rows as wide as a wake costs
-- more to set up than all the look-ups of a call. Gates 1 to 3 depend on no other wake of the
-- batch.
create or replace function dispatch._gate_wakes(
    p_workspace_id uuid,
    p_wakes dispatch.wake[],
    p_now timestamptz
)
returns dispatch._candidate[]
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_tick constant bigint := dispatch._uuid_tick();
    v_paused constant dispatch.reason_code := dispatch._pause_verdict(p_workspace_id);
    v_candidates dispatch._candidate[] := '{}'::dispatch._candidate[];
    v_policy text;
    v_wake dispatch.wake;
    v_agent uuid;
    v_fallback uuid;
    v_runtime uuid;
    v_status text;
    v_archived_at timestamptz;
    v_is_executable boolean;
    v_code dispatch.reason_code;
    v_human uuid;
    v_answering uuid;
    v_how text;
begin
    select s.attribution_policy
    into v_policy
    from dispatch.workspace as s
    where s.id = p_workspace_id;
    for v_i in 1..cardinality(p_wakes) loop
        v_wake := p_wakes[v_i];
        select
            g.id, g.runtime_id, g.status, g.archived_at,
            case when v_policy = 'owner_fallback' then g.owner_id end,
            coalesce(
                rt.status <> 'offline' or rt.offline_reason is distinct from 'not_executable',
                true
            )
        into v_agent, v_runtime, v_status, v_archived_at, v_fallback, v_is_executable
        from dispatch.agent as g
        left join lateral (
            select r.status, r.offline_reason
            from dispatch.runtime as r
            where r.workspace_id = p_workspace_id and r.id = g.runtime_id
            limit 1
        ) as rt on true
        where g.workspace_id = p_workspace_id and g.id = v_wake.agent_id;

        v_how := null;
        v_answering := null;
        if 'attribution' = any(v_wake.skip) then
            v_human := v_wake.originator_id;
            v_answering := v_wake.accountable_id;
            v_how := v_wake.attribution_source;
        elsif v_wake.actor_type = 'user' then
            v_human := v_wake.actor_id;
        elsif v_wake.actor_type = 'agent' then
            select d.originator_id, d.accountable_id
            into v_human, v_answering
            from dispatch.run_detail as d
            where d.workspace_id = p_workspace_id and d.run_id = v_wake.acting_run_id;
        else
            v_human := v_wake.originator_id;
        end if;
        if v_how is null then
            v_how := case
                when num_nonnulls(v_human, v_answering) > 0 then
                    case v_wake.actor_type when 'user' then 'direct_human' else 'delegation' end
                when v_fallback is not null then 'owner_fallback'
            end;
        end if;

        v_code := null;
        if v_wake.skip is null or not 'agent' = any(v_wake.skip) then
            v_code := dispatch._agent_verdict(
                v_agent is not null, v_archived_at is not null,
                v_runtime is not null, v_is_executable, v_status
            );
        end if;
        if v_code is null and v_how is null then
            v_code := 'attribution_blocked';
        elsif v_code is null and (v_wake.skip is null or not 'pause' = any(v_wake.skip)) then
            v_code := v_paused;
        end if;

        v_wake.payload := coalesce(v_wake.payload, '{}');
        v_wake.idempotency_key := nullif(v_wake.idempotency_key, '');
        v_wake.priority := coalesce(v_wake.priority, 0);
        v_wake.fire_at := case when v_wake.fire_at > p_now then v_wake.fire_at end;
        v_wake.coalesce := coalesce(v_wake.coalesce, true);
        v_wake.max_attempts := coalesce(v_wake.max_attempts, 2);
        v_wake.attempt := coalesce(v_wake.attempt, 1);
        v_wake.runtime_id := coalesce(v_wake.runtime_id, v_runtime);
        v_wake.originator_id := v_human;
        v_wake.accountable_id := coalesce(v_human, v_answering, v_fallback);
        v_wake.attribution_source := v_how;
        if v_wake.chat_session_id is not null then
            v_wake.evidence_kind := coalesce(v_wake.evidence_kind, 'chat');
            v_wake.evidence_id := coalesce(v_wake.evidence_id, v_wake.chat_session_id);
        end if;
        v_wake.delegated_from_run_id := coalesce(
            v_wake.delegated_from_run_id, v_wake.acting_run_id
        );
        v_wake.is_leader_run := coalesce(v_wake.is_leader_run, false);
        v_wake.force_fresh := coalesce(v_wake.force_fresh, false);
        v_candidates[v_i] := row(
            v_i, dispatch._uuid_v7(v_tick + v_i), v_code, v_wake
        )::dispatch._candidate;
    end loop;
    return v_candidates;
end;
$fn$;

comment on function dispatch._gate_wakes(uuid, dispatch.wake[], timestamptz) is
$doc$Judge wakes by gates 1 to 3 (agent, attribution, pause) and stamp who answers for each.

Returns one candidate a wake in the order given; code is NULL when none of the three blocks. A
wake that names a gate in skip passes it. fire_at stays only when it lies after p_now. Nobody
answers when no human acts, the acting run has none, and the workspace forbids the agent's owner
to stand in, has no known policy, or the agent has no owner. Rule: issue-to-run 8.
Errors: none.$doc$;
-- end sql/30_functions/admission/_gate_wakes.sql

-- begin sql/30_functions/admission/_has_detail.sql
create or replace function dispatch._has_detail(p_workspace_id uuid, p_run_id uuid)
returns boolean
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    return exists (
        select from dispatch.run_detail as d
        where d.workspace_id = p_workspace_id and d.run_id = p_run_id
    );
end;
$fn$;

comment on function dispatch._has_detail(uuid, uuid) is
$doc$Tell whether a run got its details, and so both of its rows.

Errors: none.$doc$;
-- end sql/30_functions/admission/_has_detail.sql

-- begin sql/30_functions/admission/_insert_decision.sql
create or replace function dispatch._insert_decision(p_run_id uuid, p_wake dispatch.wake)
returns dispatch.decision
language sql
immutable
parallel safe
as $fn$
select row(
    case when (p_wake).fire_at is null then 'queued'::dispatch.outcome else 'deferred' end,
    case when (p_wake).fire_at is null then 'queued'::dispatch.reason_code else 'deferred' end,
    p_run_id, (p_wake).agent_id, (p_wake).source, null
)::dispatch.decision;
$fn$;

comment on function dispatch._insert_decision(uuid, dispatch.wake) is
$doc$Answer a wake that became a run of its own: queued, or deferred until its time.

Errors: none.$doc$;
-- end sql/30_functions/admission/_insert_decision.sql

-- begin sql/30_functions/admission/_insert_runs.sql
-- Locks: what the two inserts wait for. Rows go in by pair and by key, so that two batches wait
-- for each other in one order. Each insert yields to exactly its own index. The sources are
-- arrays of the tables' own rows: no wider than its target, a source is the cheapest to set up,
-- for one run and for a thousand.
create or replace function dispatch._insert_runs(
    p_workspace_id uuid,
    p_runs dispatch.run[],
    p_details dispatch.run_detail[]
)
returns bigint
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_details dispatch.run_detail[] := p_details;
    v_count bigint;
begin
    insert into dispatch.run (
        workspace_id, id, agent_id, runtime_id, issue_id, lane, status, priority, attempt,
        max_attempts, requested_at, fire_at
    )
    select
        r.workspace_id, r.id, r.agent_id, r.runtime_id, r.issue_id, r.lane, r.status,
        r.priority, r.attempt, r.max_attempts, r.requested_at, r.fire_at
    from unnest(p_runs) as r
    order by r.agent_id, r.issue_id, r.id
    on conflict (workspace_id, agent_id, issue_id)
    where status in ('queued', 'dispatched')
    do nothing;
    get diagnostics v_count = row_count;
    if v_count < cardinality(p_runs) then
        v_details := array(
            select d
            from unnest(p_details) as d
            where exists (
                select
                from dispatch.run as r
                where r.workspace_id = p_workspace_id and r.id = d.run_id
            )
        );
    end if;

    insert into dispatch.run_detail (
        workspace_id, run_id, issue_id, requested_at, reason, source, payload, idempotency_key,
        chat_session_id, autopilot_run_id, comment_id, parent_run_id, rerun_of_run_id,
        escalation_for_run_id, delegated_from_run_id, actor_type, actor_id, originator_id,
        accountable_id, attribution_source, evidence_kind, evidence_id, squad_id, is_leader_run,
        handoff_note, session_id, work_dir, force_fresh
    )
    select
        d.workspace_id, d.run_id, d.issue_id, d.requested_at, d.reason, d.source, d.payload,
        d.idempotency_key, d.chat_session_id, d.autopilot_run_id, d.comment_id, d.parent_run_id,
        d.rerun_of_run_id, d.escalation_for_run_id, d.delegated_from_run_id, d.actor_type,
        d.actor_id, d.originator_id, d.accountable_id, d.attribution_source, d.evidence_kind,
        d.evidence_id, d.squad_id, d.is_leader_run, d.handoff_note, d.session_id, d.work_dir,
        d.force_fresh
    from unnest(v_details) as d
    order by d.idempotency_key, d.run_id
    on conflict (workspace_id, idempotency_key)
    where idempotency_key is not null
    do nothing;
    get diagnostics v_count = row_count;
    return v_count;
end;
$fn$;

comment on function dispatch._insert_runs(uuid, dispatch.run[], dispatch.run_detail[]) is
$doc$Insert runs and their details, and tell how many of them got both.

The only place that inserts into run and run_detail. A run whose pending slot is taken gets
neither row, one whose key is taken keeps its run row for the caller to take back.
Errors: none.$doc$;
-- end sql/30_functions/admission/_insert_runs.sql

-- begin sql/30_functions/admission/_lock_agents.sql
-- Locks: agents FOR KEY SHARE by id. Held to the end of the transaction, so that an archive or
-- a teardown, which locks FOR UPDATE, cannot slip between the verdict and the insert.
create or replace function dispatch._lock_agents(p_workspace_id uuid, p_agent_ids uuid[])
returns void
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    if cardinality(p_agent_ids) = 1 then
        perform
        from dispatch.agent as a
        where a.workspace_id = p_workspace_id and a.id = p_agent_ids[1]
        for key share;
        return;
    end if;
    perform
    from (select distinct i.id from unnest(p_agent_ids) as i (id) order by i.id) as n
    cross join lateral (
        select
        from dispatch.agent as a
        where a.workspace_id = p_workspace_id and a.id = n.id
        limit 1
        for key share
    ) as k;
end;
$fn$;

comment on function dispatch._lock_agents(uuid, uuid[]) is
$doc$Keep these agents from being archived or deleted until the transaction ends.

Errors: none.$doc$;
-- end sql/30_functions/admission/_lock_agents.sql

-- begin sql/30_functions/admission/_lock_holders.sql
-- Locks: run rows FOR NO KEY UPDATE by id, and none when no slot is taken.
create or replace function dispatch._lock_holders(
    p_workspace_id uuid,
    p_round dispatch._candidate[]
)
returns uuid[]
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_holders uuid[];
begin
    v_holders := array(
        select h.id
        from unnest(p_round) as c
        cross join lateral (
            select r.id
            from dispatch.run as r
            where r.workspace_id = p_workspace_id
                and r.agent_id = (c.wake).agent_id
                and r.issue_id = (c.wake).issue_id
                and r.status in ('queued', 'dispatched')
            limit 1
        ) as h
        where (c.wake).issue_id is not null and (c.wake).fire_at is null
    );
    return array(
        select r.id
        from (select distinct i.id from unnest(v_holders) as i (id) order by i.id) as h
        cross join lateral (
            select o.id
            from dispatch.run as o
            where o.workspace_id = p_workspace_id and o.id = h.id
            limit 1
            for no key update
        ) as r
    );
end;
$fn$;

comment on function dispatch._lock_holders(uuid, dispatch._candidate[]) is
$doc$Hold the runs in whose pending slots these candidates may end, in one order, so that two
batches wait for each other and never deadlock, and give them.

Errors: none.$doc$;
-- end sql/30_functions/admission/_lock_holders.sql

-- begin sql/30_functions/admission/_may_coalesce.sql
create or replace function dispatch._may_coalesce(
    p_workspace_id uuid,
    p_run_id uuid,
    p_wake dispatch.wake,
    p_at timestamptz
)
returns boolean
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_queued constant dispatch.run_status := 'queued'::dispatch.run_status;
begin
    if p_wake.comment_id is not null
        and p_wake.source in ('comment', 'mention')
        and not coalesce('coalesce' = any(p_wake.skip), false)
    then
        return exists (
            select
            from dispatch.run as r
            where r.workspace_id = p_workspace_id
                and r.id = p_run_id
                and r.agent_id = p_wake.agent_id
                and r.issue_id = p_wake.issue_id
                and r.status = v_queued
        );
    elsif not p_wake.coalesce
        or 'coalesce' = any(p_wake.skip)
        or num_nonnulls(p_wake.chat_session_id, p_wake.autopilot_run_id) > 0
        or num_nonnulls(p_wake.parent_run_id, p_wake.rerun_of_run_id) > 0
        or starts_with(p_wake.idempotency_key, 'task_comment:')
    then
        return false;
    end if;
    return exists (
        select
        from dispatch.run as r
        inner join dispatch.run_detail as d
            on d.workspace_id = r.workspace_id and d.run_id = r.id
        where r.workspace_id = p_workspace_id
            and d.workspace_id = p_workspace_id
            and r.id = p_run_id
            and r.agent_id = p_wake.agent_id
            and r.issue_id = p_wake.issue_id
            and r.status = 'queued'
            and r.requested_at > p_at - dispatch.coalesce_window()
            and d.reason = p_wake.reason
            and dispatch._task_bucket(d.payload) = dispatch._task_bucket(p_wake.payload)
            and num_nonnulls(d.chat_session_id, d.autopilot_run_id) = 0
            and num_nonnulls(d.parent_run_id, d.rerun_of_run_id) = 0
            and not coalesce(starts_with(d.idempotency_key, 'task_comment:'), false)
    );
end;
$fn$;

comment on function dispatch._may_coalesce(uuid, uuid, dispatch.wake, timestamptz) is
$doc$Gate 5: tell whether a wake merges into the pair's queued run at p_at.

Agent, reason, issue and task bucket must be equal and the run younger than coalesce_window()
since its first request. Chat, autopilot, retry and rerun wakes and keys of comments merge with
nothing. A comment merges into any queued run of its pair, whatever its reason and age. The
caller holds the run row. Rule: assignment-wake-rate-limit, Where the gate sits; dispatch 3.4.
Errors: none of its own; one of the read reaches the caller and nothing is written.$doc$;
-- end sql/30_functions/admission/_may_coalesce.sql

-- begin sql/30_functions/admission/_merge_wake.sql
-- The caller holds the run row FOR NO KEY UPDATE and has seen it queued under that lock, so the
-- claim that takes it next reads what is written here. requested_at stays: the window is
-- anchored at the first wake.
create or replace function dispatch._merge_wake(
    p_workspace_id uuid,
    p_run_id uuid,
    p_wake dispatch.wake,
    p_now timestamptz
)
returns void
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    perform dispatch._record_wake(p_workspace_id, p_run_id, p_wake, 'coalesced', p_now);
    update dispatch.run_detail as d
    set
        payload = case
            when p_wake.comment_id is not null
                and d.reason = 'task_assigned'
                and jsonb_typeof(d.payload) = 'object'
                then d.payload || jsonb_build_object('comment_id', p_wake.comment_id)
            else p_wake.payload
        end,
        comment_id = coalesce(p_wake.comment_id, d.comment_id),
        coalesced_count = d.coalesced_count + 1,
        originator_id = p_wake.originator_id,
        accountable_id = p_wake.accountable_id,
        attribution_source = p_wake.attribution_source,
        evidence_kind = p_wake.evidence_kind,
        evidence_id = p_wake.evidence_id
    where d.workspace_id = p_workspace_id and d.run_id = p_run_id;
    perform dispatch._notify_runtimes(array[p_wake.runtime_id]);
end;
$fn$;

comment on function dispatch._merge_wake(uuid, uuid, dispatch.wake, timestamptz) is
$doc$Merge a wake into a queued run: its payload and attribution replace the run's, and it is
recorded.

Actor, key, priority and the time of the request stay those of the first wake. A comment is
added to the payload of an assignment, by which the allowance counts, instead of replacing it.
Errors: none.$doc$;
-- end sql/30_functions/admission/_merge_wake.sql

-- begin sql/30_functions/admission/_next_round.sql
-- Wakes that share a key, a pending slot or an allowance depend on each other, so the later one
-- must see the earlier one decided. All others commute and may be written by one statement.
-- Where an agent assigns, the assignments of others to the same task wait as well, since a
-- merge relabels the run that the allowance counts.
create or replace function dispatch._next_round(p_open dispatch._candidate[])
returns dispatch._candidate[]
language plpgsql
immutable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_round integer[];
begin
    v_round := array(
        select r.ord
        from (
            select
                w.ord,
                row_number() over (partition by w.key order by w.ord) as key_rank,
                row_number() over (partition by w.slot, w.agent_id order by w.ord) as slot_rank,
                row_number() over (partition by w.task order by w.ord) as task_rank,
                bool_or(w.is_bounded) over (partition by w.task) as is_task_bounded
            from (
                select
                    c.ord,
                    coalesce((c.wake).idempotency_key, c.run_id::text) as key,
                    coalesce((c.wake).issue_id, c.run_id) as slot,
                    (c.wake).agent_id,
                    case
                        when (c.wake).reason = 'task_assigned'
                            then coalesce((c.wake).payload ->> 'task_id', c.run_id::text)
                        else c.run_id::text
                    end as task,
                    coalesce((c.wake).payload -> 'actor_type' = '"agent"', false) as is_bounded
                from unnest(p_open) as c
            ) as w
        ) as r
        where r.key_rank = 1
            and r.slot_rank = 1
            and (r.task_rank = 1 or not r.is_task_bounded)
    );
    if cardinality(v_round) = cardinality(p_open) then
        return p_open;
    end if;
    return array(select c from unnest(p_open) as c where c.ord = any(v_round) order by c.ord);
end;
$fn$;

comment on function dispatch._next_round(dispatch._candidate[]) is
$doc$Give the open candidates that depend on no earlier open one.

Errors: none.$doc$;
-- end sql/30_functions/admission/_next_round.sql

-- begin sql/30_functions/admission/_preview_wake.sql
-- Asks what _settle_wakes and the insert ask, in their order and by the same functions, and
-- leaves out what they do: nothing is locked, merged, recorded, counted or warned of. The wakes
-- of different issues share no key, slot or allowance, so each is judged by itself.
create or replace function dispatch._preview_wake(
    p_workspace_id uuid,
    p_wake dispatch.wake,
    p_now timestamptz
)
returns dispatch.decision
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_run uuid;
    v_verdict record;
begin
    if p_wake.idempotency_key is not null then
        v_run := dispatch._find_duplicate(p_workspace_id, p_wake.idempotency_key, p_now);
        if v_run is not null then
            return dispatch._duplicate_decision(
                p_workspace_id, p_wake, v_run, 'duplicate_recent'
            );
        end if;
    end if;

    select r.id
    into v_run
    from dispatch.run as r
    where r.workspace_id = p_workspace_id
        and r.agent_id = p_wake.agent_id
        and r.issue_id = p_wake.issue_id
        and r.status in ('queued', 'dispatched');
    if found then
        if dispatch._may_coalesce(p_workspace_id, v_run, p_wake, p_now) then
            return row(
                'coalesced', 'coalesced', v_run, p_wake.agent_id, p_wake.source, null
            )::dispatch.decision;
        end if;
        return row(
            'absorbed', 'already_active', v_run, p_wake.agent_id, p_wake.source, null
        )::dispatch.decision;
    end if;

    if p_wake.reason = 'task_assigned' then
        v_verdict := dispatch._allowance_verdict(p_workspace_id, p_wake, p_now);
        if v_verdict.reason = 'allowance_exhausted' then
            return row(
                'rate_limited', 'allowance_exhausted', null, p_wake.agent_id, p_wake.source,
                v_verdict.detail
            )::dispatch.decision;
        end if;
    end if;

    if p_wake.idempotency_key is not null then
        select d.run_id
        into v_run
        from dispatch.run_detail as d
        where d.workspace_id = p_workspace_id
            and d.idempotency_key = p_wake.idempotency_key;
        if found then
            return dispatch._duplicate_decision(
                p_workspace_id, p_wake, v_run, 'duplicate_key'
            );
        end if;
    end if;
    return row(
        'queued', 'queued', null, p_wake.agent_id, p_wake.source, null
    )::dispatch.decision;
end;
$fn$;

comment on function dispatch._preview_wake(uuid, dispatch.wake, timestamptz) is
$doc$Give the decision that gates 4 to 8 would make about a wake of an issue at p_now, which
gates 1 to 3 let pass, and write nothing.

Errors: those of the gates' reads.$doc$;
-- end sql/30_functions/admission/_preview_wake.sql

-- begin sql/30_functions/admission/_preview_wakes.sql
create or replace function dispatch._preview_wakes(
    p_workspace_id uuid,
    p_wakes dispatch.wake[]
)
returns dispatch.decision[]
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_now constant timestamptz := dispatch.clock();
    v_decisions dispatch.decision[] := '{}'::dispatch.decision[];
    v_c dispatch._candidate;
begin
    foreach v_c in array dispatch._gate_wakes(p_workspace_id, p_wakes, v_now) loop
        v_decisions[v_c.ord] := case
            when v_c.code is not null then dispatch._blocked_decision(v_c.wake, v_c.code)
            else dispatch._preview_wake(p_workspace_id, v_c.wake, v_now)
        end;
    end loop;
    return v_decisions;
end;
$fn$;

comment on function dispatch._preview_wakes(uuid, dispatch.wake[]) is
$doc$Give the decisions that admission would make about wakes of different issues now, in the
same order, and write nothing.

Errors: those of the gates' reads.$doc$;
-- end sql/30_functions/admission/_preview_wakes.sql

-- begin sql/30_functions/admission/_record_first_wake.sql
-- A dispatched run has delivered its own wake already; of a queued or deferred one nothing is
-- delivered.
create or replace function dispatch._record_first_wake(p_workspace_id uuid, p_run_id uuid)
returns void
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    if exists (
        select from dispatch.run_trigger as t
        where t.workspace_id = p_workspace_id and t.run_id = p_run_id
    ) then
        return;
    end if;
    insert into dispatch.run_trigger (
        workspace_id, run_id, seq, at, last_at, outcome, source, reason, payload,
        idempotency_key, comment_id, actor_type, actor_id, originator_id, accountable_id,
        attribution_source, evidence_kind, evidence_id, delegated_from_run_id, delivered_count
    )
    select
        d.workspace_id, d.run_id, 1, d.requested_at, d.requested_at, 'queued', d.source,
        d.reason, d.payload, d.idempotency_key, d.comment_id, d.actor_type, d.actor_id,
        d.originator_id, d.accountable_id, d.attribution_source, d.evidence_kind, d.evidence_id,
        d.delegated_from_run_id, case when r.status in ('queued', 'deferred') then 0 else 1 end
    from dispatch.run as r
    inner join dispatch.run_detail as d
        on d.workspace_id = r.workspace_id and d.run_id = r.id
    where r.workspace_id = p_workspace_id
        and d.workspace_id = p_workspace_id
        and r.id = p_run_id;
end;
$fn$;

comment on function dispatch._record_first_wake(uuid, uuid) is
$doc$Write a run's own first wake into run_trigger unless the run has rows there.

Errors: none.$doc$;
-- end sql/30_functions/admission/_record_first_wake.sql

-- begin sql/30_functions/admission/_record_wake.sql
-- The caller holds the run row FOR NO KEY UPDATE. A run's own first wake is written only when a
-- second one comes, so an ordinary run has no row here.
create or replace function dispatch._record_wake(
    p_workspace_id uuid,
    p_run_id uuid,
    p_wake dispatch.wake,
    p_outcome dispatch.outcome,
    p_now timestamptz
)
returns void
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    perform dispatch._record_first_wake(p_workspace_id, p_run_id);
    update dispatch.run_trigger as t
    set count = t.count + 1, last_at = p_now
    where t.workspace_id = p_workspace_id
        and t.run_id = p_run_id
        and t.outcome = p_outcome
        and not t.inherited
        and t.source = p_wake.source
        and t.reason = p_wake.reason
        and t.payload = p_wake.payload
        and t.actor_type = p_wake.actor_type
        and t.actor_id is not distinct from p_wake.actor_id
        and t.originator_id is not distinct from p_wake.originator_id
        and t.comment_id is not distinct from p_wake.comment_id
        and t.idempotency_key is not distinct from p_wake.idempotency_key;
    if not found then
        insert into dispatch.run_trigger (
            workspace_id, run_id, seq, at, last_at, outcome, source, reason, payload,
            idempotency_key, comment_id, actor_type, actor_id, originator_id, accountable_id,
            attribution_source, evidence_kind, evidence_id, delegated_from_run_id
        )
        select
            p_workspace_id, p_run_id, max(t.seq) + 1, p_now, p_now, p_outcome, p_wake.source,
            p_wake.reason, p_wake.payload, p_wake.idempotency_key, p_wake.comment_id,
            p_wake.actor_type, p_wake.actor_id, p_wake.originator_id, p_wake.accountable_id,
            p_wake.attribution_source, p_wake.evidence_kind, p_wake.evidence_id,
            p_wake.delegated_from_run_id
        from dispatch.run_trigger as t
        where t.workspace_id = p_workspace_id and t.run_id = p_run_id;
    end if;
end;
$fn$;

comment on function dispatch._record_wake(
    uuid, uuid, dispatch.wake, dispatch.outcome, timestamptz
) is
$doc$Record a wake on the run that stands for it from then on.

p_outcome is coalesced or absorbed. An equal wake (source, reason, payload, actor, originator,
comment, key) that was recorded with the same outcome gains a count instead of a row.
Errors: none.$doc$;
-- end sql/30_functions/admission/_record_wake.sql

-- begin sql/30_functions/admission/_run_row.sql
create or replace function dispatch._run_row(
    p_workspace_id uuid,
    p_run_id uuid,
    p_wake dispatch.wake,
    p_now timestamptz
)
returns dispatch.run
language sql
immutable
parallel safe
as $fn$
select row(
    p_workspace_id, p_run_id, (p_wake).agent_id, (p_wake).runtime_id, (p_wake).issue_id,
    coalesce(
        (p_wake).issue_id, (p_wake).chat_session_id,
        case when (p_wake).autopilot_run_id is null then (p_wake).agent_id else p_run_id end
    ),
    case
        when (p_wake).fire_at is null then 'queued'::dispatch.run_status else 'deferred'
    end,
    (p_wake).priority, 0, (p_wake).attempt, (p_wake).max_attempts, p_now, (p_wake).fire_at,
    null, null, null, null
)::dispatch.run;
$fn$;

comment on function dispatch._run_row(uuid, uuid, dispatch.wake, timestamptz) is
$doc$Make the run that a wake becomes at p_now.

Errors: none.$doc$;
-- end sql/30_functions/admission/_run_row.sql

-- begin sql/30_functions/admission/_settle_wake.sql
-- Locks: the run row that holds the wake's pending slot FOR NO KEY UPDATE, and none when the
-- slot is free. The lock comes first and the status is rechecked under it, so that a claim
-- either sees the recorded wake or makes it owed; without it a wake is lost. A batch locks
-- nothing here: a run that came into a slot after the batch's holders were locked in their
-- order is met by the insert, and locked in order by the next round.
create or replace function dispatch._settle_wake(
    p_workspace_id uuid,
    p_wake dispatch.wake,
    p_held uuid[],
    p_now timestamptz
)
returns dispatch.decision
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_pending constant dispatch.run_status[] := array[
        'queued', 'dispatched'
    ]::dispatch.run_status[];
    v_run uuid;
    v_verdict record;
begin
    if p_wake.idempotency_key is not null
        and (p_wake.skip is null or not 'duplicate' = any(p_wake.skip))
    then
        v_run := dispatch._find_duplicate(p_workspace_id, p_wake.idempotency_key, p_now);
        if v_run is not null then
            return dispatch._duplicate_decision(
                p_workspace_id, p_wake, v_run, 'duplicate_recent'
            );
        end if;
    end if;
    if p_wake.fire_at is not null then
        return null;
    end if;

    if p_wake.issue_id is not null then
        select r.id
        into v_run
        from dispatch.run as r
        where r.workspace_id = p_workspace_id
            and r.agent_id = p_wake.agent_id
            and r.issue_id = p_wake.issue_id
            and r.status in ('queued', 'dispatched');
        if found and (p_held is null or v_run = any(p_held)) then
            perform
            from dispatch.run as r
            where r.workspace_id = p_workspace_id and r.id = v_run and r.status = any(v_pending)
            for no key update;
            if found then
                return dispatch._absorb_wake(p_workspace_id, v_run, p_wake, p_now);
            end if;
        end if;
    end if;

    if p_wake.reason = 'task_assigned'
        and (p_wake.skip is null or not 'allowance' = any(p_wake.skip))
    then
        v_verdict := dispatch._allowance_verdict(p_workspace_id, p_wake, p_now);
        if v_verdict.reason = 'allowance_exhausted' then
            return row(
                'rate_limited', 'allowance_exhausted', null, p_wake.agent_id, p_wake.source,
                v_verdict.detail
            )::dispatch.decision;
        elsif v_verdict.reason is not null then
            perform dispatch._record_gate_event(
                p_workspace_id, p_now, v_verdict.reason, p_wake, null, v_verdict.detail
            );
        end if;
    end if;
    return null;
end;
$fn$;

comment on function dispatch._settle_wake(uuid, dispatch.wake, uuid[], timestamptz) is
$doc$Take a wake through gates 4 to 7: duplicate, coalesce, pending slot, allowance.

p_held are the runs that its batch holds, NULL for a wake alone. Returns the decision of the
gate that settled it, NULL for a wake that is to be inserted.
Errors: none.$doc$;
-- end sql/30_functions/admission/_settle_wake.sql

-- begin sql/30_functions/admission/_take_back.sql
create or replace function dispatch._take_back(
    p_workspace_id uuid,
    p_run_id uuid,
    p_wake dispatch.wake
)
returns dispatch.decision
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_holder uuid;
begin
    delete from dispatch.run as r where r.workspace_id = p_workspace_id and r.id = p_run_id;
    if not found then
        return null;
    end if;
    select d.run_id
    into v_holder
    from dispatch.run_detail as d
    where d.workspace_id = p_workspace_id and d.idempotency_key = p_wake.idempotency_key;
    -- Not found: whoever had the key is gone, and the caller tries the insert again.
    if not found then
        return null;
    end if;
    return dispatch._duplicate_decision(p_workspace_id, p_wake, v_holder, 'duplicate_key');
end;
$fn$;

comment on function dispatch._take_back(uuid, uuid, dispatch.wake) is
$doc$Take back what was inserted of a run that lost its pending slot or its key.

Returns the decision of a wake whose key another run has; NULL when the wake is to be tried
again, as after the loss of the slot, whose new holder may absorb it.
Errors: none.$doc$;
-- end sql/30_functions/admission/_take_back.sql

-- begin sql/30_functions/admission/_task_bucket.sql
create or replace function dispatch._task_bucket(p_payload jsonb)
returns text
language sql
immutable
parallel safe
as $fn$
select case
    when coalesce(p_payload -> 'task_id', 'null') in ('null', '""') then 'taskless'
    when jsonb_typeof(p_payload -> 'task_id') = 'string'
        then 'task ' || (p_payload ->> 'task_id')
end;
$fn$;

comment on function dispatch._task_bucket(jsonb) is
$doc$Name the task of a payload for the comparison of two wakes; NULL merges with nothing.

Absent, null and empty are one bucket, as is a payload that is no object; a task_id that is no
string has none. Rule: assignment-wake-rate-limit, The predicate.
Errors: none.$doc$;
-- end sql/30_functions/admission/_task_bucket.sql

-- begin sql/30_functions/admission/_without.sql
create or replace function dispatch._without(
    p_open dispatch._candidate[],
    p_round dispatch._candidate[]
)
returns dispatch._candidate[]
language plpgsql
immutable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    if cardinality(p_round) = cardinality(p_open) then
        return '{}'::dispatch._candidate[];
    end if;
    return array(
        select c
        from unnest(p_open) as c
        left join unnest(p_round) as s on s.ord = c.ord
        where s.ord is null
        order by c.ord
    );
end;
$fn$;

comment on function dispatch._without(dispatch._candidate[], dispatch._candidate[]) is
$doc$Give the open candidates that are not in the round; the round is a part of them.

Errors: none.$doc$;
-- end sql/30_functions/admission/_without.sql

-- begin sql/30_functions/admission/read_payload.sql
-- An exception block is the only way to learn on every supported server whether a text is JSON.
-- It writes nothing inside, so no subtransaction id is used up.
create or replace function dispatch.read_payload(p_text text)
returns jsonb
language plpgsql
stable
parallel safe
security definer
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_payload jsonb;
begin
    if p_text is null then
        return '{}'::jsonb;
    end if;
    begin
        v_payload := p_text::jsonb;
    exception
        when others then
            if sqlstate like '40%' or sqlstate in ('57014', '0A000') then
                raise;
            end if;
            return to_jsonb(p_text);
    end;
    if jsonb_typeof(v_payload) = 'object' then
        return v_payload;
    end if;
    return to_jsonb(p_text);
end;
$fn$;

comment on function dispatch.read_payload(text) is
$doc$Read a text as a payload without ever refusing it.

A JSON object is itself; NULL is an empty object; any other text, be it JSON of another kind or
no JSON at all, is that text as a JSON string.
Errors: none.$doc$;
-- end sql/30_functions/admission/read_payload.sql

-- begin sql/30_functions/allowance/_allowance_count.sql
-- A retry and a follow-up keep the payload of the run they follow, but no agent asked for them:
-- a slot is held by the run that a wake made and by none that came after it.
create or replace function dispatch._allowance_count(
    p_workspace_id uuid,
    p_task_id text,
    p_at timestamptz
)
returns bigint
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_count bigint;
begin
    select count(*)
    into v_count
    from dispatch.run_detail as d
    where d.workspace_id = p_workspace_id
        and hashtextextended(d.payload ->> 'task_id', 0) = hashtextextended(p_task_id, 0)
        and d.requested_at > p_at - dispatch.allowance_window()
        and d.requested_at <= p_at
        and d.reason = 'task_assigned'
        and d.payload -> 'actor_type' = '"agent"'
        and jsonb_typeof(d.payload -> 'task_id') = 'string'
        and d.payload ->> 'task_id' = p_task_id
        and num_nonnulls(d.parent_run_id, d.rerun_of_run_id) = 0
        and not exists (
            select
            from dispatch.run_trigger as t
            where t.workspace_id = p_workspace_id
                and t.run_id = d.run_id
                and t.seq = 1
                and t.inherited
        );
    return v_count;
end;
$fn$;

comment on function dispatch._allowance_count(uuid, text, timestamptz) is
$doc$Count the runs that agent-initiated assignment wakes of an issue made in the window that
ends at p_at.

The window is half-open: a run exactly allowance_window() old is out of it, one of p_at is in.
Status, agent, key and order do not matter. Rule: assignment-wake-rate-limit, Counting without
new state.
Errors: none of its own.$doc$;
-- end sql/30_functions/allowance/_allowance_count.sql

-- begin sql/30_functions/allowance/_allowance_verdict.sql
-- The count is the one read that fails open: a broken read must not stop a legitimate wake. The
-- exception block writes nothing inside, so it uses up no transaction id.
create or replace function dispatch._allowance_verdict(
    p_workspace_id uuid,
    p_wake dispatch.wake,
    p_at timestamptz,
    out reason text,
    out detail jsonb
)
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_task_id constant text := p_wake.payload ->> 'task_id';
    v_observed bigint;
begin
    if p_wake.reason <> 'task_assigned'
        or p_wake.payload -> 'actor_type' is distinct from '"agent"'
    then
        return;
    elsif jsonb_typeof(p_wake.payload -> 'task_id') is distinct from 'string'
        or v_task_id = ''
    then
        reason := 'task_unattributed';
        detail := jsonb_build_object('allowance', dispatch.allowance_limit());
        return;
    end if;
    begin
        v_observed := dispatch._allowance_count(p_workspace_id, v_task_id, p_at);
    exception
        when others then
            if sqlstate like '40%' or sqlstate in ('57014', '0A000') then
                raise;
            end if;
            reason := 'count_read_failed';
            detail := jsonb_build_object(
                'task_id', v_task_id, 'allowance', dispatch.allowance_limit(), 'error', sqlerrm
            );
            return;
    end;
    if v_observed >= dispatch.allowance_limit() then
        reason := 'allowance_exhausted';
        detail := jsonb_build_object(
            'task_id', v_task_id, 'observed', v_observed,
            'allowance', dispatch.allowance_limit()
        );
    end if;
end;
$fn$;

comment on function dispatch._allowance_verdict(uuid, dispatch.wake, timestamptz) is
$doc$Gate 7: judge a wake by the assignment allowance of its issue at p_at.

reason is NULL when the wake passes unnoticed: not an assignment, not by an agent, or within the
allowance. task_unattributed and count_read_failed pass as well and are counted;
allowance_exhausted refuses. The order of the tests is part of the contract. Rule:
assignment-wake-rate-limit, The predicate and Failure direction.
Errors: those of class 40, 57014 and 0A000 only.$doc$;
-- end sql/30_functions/allowance/_allowance_verdict.sql

-- begin sql/30_functions/arguments/_check_count.sql
create or replace function dispatch._check_count(p_name text, p_count integer)
returns void
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    if p_count is null or p_count < 0 then
        perform dispatch._raise('PD400', 'count out of range', p_name, '0 or more.');
    end if;
end;
$fn$;

comment on function dispatch._check_count(text, integer) is
$doc$Refuse a count that is NULL or negative.

Errors: PD400 count out of range.$doc$;
-- end sql/30_functions/arguments/_check_count.sql

-- begin sql/30_functions/arguments/_check_elements.sql
-- One statement over the whole batch, since a batch is checked on the way of every bulk call.
create or replace function dispatch._check_elements(
    p_name text,
    p_elements jsonb,
    p_kinds jsonb,
    p_required text[]
)
returns void
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_bad record;
begin
    if p_elements is null or jsonb_typeof(p_elements) <> 'array' then
        perform dispatch._raise('PD400', 'batch is no array', p_name, 'give a JSON array.');
    elsif jsonb_array_length(p_elements) > dispatch.batch_limit() then
        perform dispatch._raise(
            'PD400', 'batch too long', p_name,
            format('at most %s elements.', dispatch.batch_limit())
        );
    end if;
    select e.ordinality - 1 as place, f.key, p_kinds ->> f.key as wanted
    into v_bad
    from jsonb_array_elements(p_elements) with ordinality as e (value, ordinality)
    cross join lateral (
        select null as key where jsonb_typeof(e.value) <> 'object'
        union all
        select k.key
        from jsonb_each(
            case jsonb_typeof(e.value) when 'object' then e.value else '{}' end
        ) as k
        where (
            not k.key = any(p_required) and k.value <> 'null' or k.key = any(p_required)
        ) and (
            not p_kinds ? k.key
            or not dispatch._is_kind(k.value, p_kinds ->> k.key)
            or k.value = '"00000000-0000-0000-0000-000000000000"' and p_kinds ->> k.key = 'uuid'
        ) or not p_kinds ? k.key
        union all
        select r.key
        from unnest(p_required) as r (key)
        where jsonb_typeof(e.value) = 'object' and not e.value ? r.key
    ) as f
    order by e.ordinality, f.key
    limit 1;
    if not found then
        return;
    elsif v_bad.key is null then
        perform dispatch._raise(
            'PD400', 'element is no object', format('%s[%s]', p_name, v_bad.place),
            'give a JSON object.'
        );
    elsif v_bad.wanted is null then
        perform dispatch._raise(
            'PD400', 'unknown key',
            format('%s[%s].%s', p_name, v_bad.place, left(v_bad.key, 60)),
            'remove this key.'
        );
    end if;
    perform dispatch._raise(
        'PD400', 'value missing or of a wrong kind',
        format('%s[%s].%s', p_name, v_bad.place, v_bad.key),
        format('give a value of kind %s.', v_bad.wanted)
    );
end;
$fn$;

comment on function dispatch._check_elements(text, jsonb, jsonb, text[]) is
$doc$Refuse a batch whose shape is wrong, naming the first bad element and key.

p_kinds maps each known key to the kind of its value: any, string, boolean, integer, object,
uuid (not all zero), instant or interval. A null counts as absent; keys in p_required must be
there.
Errors: PD400 no array, too many elements, an element that is no object, an unknown key, a
missing value or one of a wrong kind.$doc$;
-- end sql/30_functions/arguments/_check_elements.sql

-- begin sql/30_functions/arguments/_check_ids.sql
create or replace function dispatch._check_ids(p_names text[], p_ids uuid[])
returns void
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    for v_i in 1..cardinality(p_names) loop
        if p_ids[v_i] is null then
            perform dispatch._raise(
                'PD400', 'argument missing', p_names[v_i], 'give an id, not NULL.'
            );
        elsif p_ids[v_i] = '00000000-0000-0000-0000-000000000000' then
            perform dispatch._raise(
                'PD400', 'id is all zero', p_names[v_i], 'the all-zero uuid names nothing.'
            );
        end if;
    end loop;
end;
$fn$;

comment on function dispatch._check_ids(text[], uuid[]) is
$doc$Refuse the first id that is NULL or all zero; p_names are the arguments' names in order.

Errors: PD400 argument missing or all-zero id.$doc$;
-- end sql/30_functions/arguments/_check_ids.sql

-- begin sql/30_functions/arguments/_check_instant.sql
create or replace function dispatch._check_instant(
    p_name text,
    p_at timestamptz,
    p_now timestamptz
)
returns void
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    if not isfinite(p_at) or p_at > p_now + dispatch.max_delay() then
        perform dispatch._raise(
            'PD400', 'time out of range', p_name, 'a finite time at most 366 days ahead.'
        );
    end if;
end;
$fn$;

comment on function dispatch._check_instant(text, timestamptz, timestamptz) is
$doc$Refuse a time that is infinite or further ahead of p_now than max_delay(); NULL passes.

Errors: PD400 time out of range.$doc$;
-- end sql/30_functions/arguments/_check_instant.sql

-- begin sql/30_functions/arguments/_check_isolation.sql
create or replace function dispatch._check_isolation()
returns void
language plpgsql
stable
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    if current_setting('transaction_isolation')
        not in ('read committed', 'read uncommitted')
    then
        perform dispatch._raise(
            'PD400', 'transaction too strict', 'transaction_isolation',
            'call this function at READ COMMITTED.'
        );
    end if;
end;
$fn$;

comment on function dispatch._check_isolation() is
$doc$Refuse a transaction that would not see what was committed while it waited for a lock.

Errors: PD400 transaction too strict.$doc$;
-- end sql/30_functions/arguments/_check_isolation.sql

-- begin sql/30_functions/arguments/_check_lease.sql
create or replace function dispatch._check_lease(p_name text, p_lease interval)
returns void
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    if p_lease <= interval '0' or p_lease > dispatch.max_lease() then
        perform dispatch._raise(
            'PD400', 'lease out of range', p_name, 'a positive interval of at most 24 hours.'
        );
    end if;
end;
$fn$;

comment on function dispatch._check_lease(text, interval) is
$doc$Refuse a lease that is not positive or longer than max_lease(); NULL passes.

Errors: PD400 lease out of range.$doc$;
-- end sql/30_functions/arguments/_check_lease.sql

-- begin sql/30_functions/arguments/_check_optional_ids.sql
create or replace function dispatch._check_optional_ids(p_names text[], p_ids uuid[])
returns void
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    for v_i in 1..cardinality(p_names) loop
        if p_ids[v_i] = '00000000-0000-0000-0000-000000000000' then
            perform dispatch._raise(
                'PD400', 'id is all zero', p_names[v_i], 'the all-zero uuid names nothing.'
            );
        end if;
    end loop;
end;
$fn$;

comment on function dispatch._check_optional_ids(text[], uuid[]) is
$doc$Refuse the first id that is all zero; NULL passes. p_names are the arguments' names in
order.

Errors: PD400 all-zero id.$doc$;
-- end sql/30_functions/arguments/_check_optional_ids.sql

-- begin sql/30_functions/arguments/_check_text.sql
create or replace function dispatch._check_text(p_name text, p_value text, p_limit integer)
returns void
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    if p_value is null or btrim(p_value) = '' then
        perform dispatch._raise(
            'PD400', 'argument missing', p_name, 'give a text that is not empty.'
        );
    elsif octet_length(p_value) > p_limit then
        perform dispatch._raise(
            'PD400', 'text too long', p_name, format('at most %s bytes.', p_limit)
        );
    end if;
end;
$fn$;

comment on function dispatch._check_text(text, text, integer) is
$doc$Refuse a text that is NULL, blank or longer than p_limit bytes.

Errors: PD400 argument missing or text too long.$doc$;
-- end sql/30_functions/arguments/_check_text.sql

-- begin sql/30_functions/arguments/_check_word.sql
create or replace function dispatch._check_word(p_name text, p_value text, p_words text[])
returns void
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    if p_value is null then
        perform dispatch._raise(
            'PD400', 'argument missing', p_name,
            format('one of %s.', array_to_string(p_words, ', '))
        );
    elsif not p_value = any(p_words) then
        perform dispatch._raise(
            'PD400', 'unknown word', p_name,
            format('one of %s.', array_to_string(p_words, ', '))
        );
    end if;
end;
$fn$;

comment on function dispatch._check_word(text, text, text[]) is
$doc$Refuse a word that is NULL or not in p_words.

Errors: PD400 argument missing or unknown word.$doc$;
-- end sql/30_functions/arguments/_check_word.sql

-- begin sql/30_functions/arguments/_cut_text.sql
create or replace function dispatch._cut_text(p_text text, p_limit integer)
returns text
language plpgsql
immutable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_mark constant text := ' [cut]';
    v_bytes bytea;
    v_length integer;
begin
    if p_text is null or octet_length(p_text) <= p_limit then
        return p_text;
    end if;
    v_bytes := convert_to(p_text, 'UTF8');
    v_length := p_limit - octet_length(v_mark);
    -- Step back to the first byte of the character that would be split.
    while get_byte(v_bytes, v_length) & 192 = 128 loop
        v_length := v_length - 1;
    end loop;
    return convert_from(substring(v_bytes from 1 for v_length), 'UTF8') || v_mark;
end;
$fn$;

comment on function dispatch._cut_text(text, integer) is
$doc$Shorten a text to p_limit bytes at a character's boundary and mark it as cut.

A text within the limit is returned as it is.
Errors: none.$doc$;
-- end sql/30_functions/arguments/_cut_text.sql

-- begin sql/30_functions/arguments/_is_instant_text.sql
-- A cast would raise the server's own error, which names no argument; so the text is judged
-- first.
create or replace function dispatch._is_instant_text(p_text text)
returns boolean
language sql
immutable
parallel safe
as $fn$
select
    p_text ~ (
        '^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])[T ]([01]\d|2[0-3]):[0-5]\d'
        '(:[0-5]\d(\.\d{1,6})?)?(Z|[+-](0\d|1[0-4])(:?[0-5]\d)?)$'
    )
    and substr(p_text, 1, 4) <> '0000'
    and substr(p_text, 9, 2)::integer <= extract(
        day from make_date(
            greatest(substr(p_text, 1, 4)::integer, 1), substr(p_text, 6, 2)::integer, 1
        ) + interval '1 month - 1 day'
    );
$fn$;

comment on function dispatch._is_instant_text(text) is
$doc$Tell whether a text is a date and time with a zone offset, as ISO 8601 writes them.

Errors: none.$doc$;
-- end sql/30_functions/arguments/_is_instant_text.sql

-- begin sql/30_functions/arguments/_is_kind.sql
-- The order of the tests matters: each cast stands behind the test that makes it safe.
create or replace function dispatch._is_kind(p_value jsonb, p_kind text)
returns boolean
language sql
immutable
parallel safe
as $fn$
select case p_kind
    when 'any' then true
    when 'integer' then case
        when jsonb_typeof(p_value) = 'number'
            then p_value::numeric = trunc(p_value::numeric)
            and p_value::numeric between -2147483648 and 2147483647
        else false
    end
    when 'uuid'
        then jsonb_typeof(p_value) = 'string' and dispatch._is_uuid_text(p_value #>> '{}')
    when 'instant'
        then jsonb_typeof(p_value) = 'string' and dispatch._is_instant_text(p_value #>> '{}')
    when 'interval'
        then jsonb_typeof(p_value) = 'string' and dispatch._is_lease_text(p_value #>> '{}')
    else jsonb_typeof(p_value) = p_kind
end;
$fn$;

comment on function dispatch._is_kind(jsonb, text) is
$doc$Tell whether a JSON value may be read as p_kind: any, integer, uuid, instant, interval, or
a type of JSON.

Errors: none.$doc$;
-- end sql/30_functions/arguments/_is_kind.sql

-- begin sql/30_functions/arguments/_is_lease_text.sql
create or replace function dispatch._is_lease_text(p_text text)
returns boolean
language sql
immutable
parallel safe
as $fn$
select p_text ~ (
    '^(\d{1,7}(\.\d{1,6})? ?(s|secs?|seconds?|mins?|minutes?|h|hours?|d|days?)'
    '|\d{1,4}:[0-5]\d(:[0-5]\d(\.\d{1,6})?)?'
    '|PT(?=\d)(\d{1,4}H)?(\d{1,6}M)?(\d{1,7}(\.\d{1,6})?S)?)$'
);
$fn$;

comment on function dispatch._is_lease_text(text) is
$doc$Tell whether a text is a length of time as a batch may give it: 45 seconds, 00:00:45 or
PT45S.

Errors: none.$doc$;
-- end sql/30_functions/arguments/_is_lease_text.sql

-- begin sql/30_functions/arguments/_is_uuid_text.sql
create or replace function dispatch._is_uuid_text(p_text text)
returns boolean
language sql
immutable
parallel safe
as $fn$
select p_text ~* '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$';
$fn$;

comment on function dispatch._is_uuid_text(text) is
$doc$Tell whether a text is a uuid in its usual form.

Errors: none.$doc$;
-- end sql/30_functions/arguments/_is_uuid_text.sql

-- begin sql/30_functions/arguments/_raise.sql
create or replace function dispatch._raise(
    p_errcode text,
    p_message text,
    p_column text,
    p_advice text,
    p_detail text default ''
)
returns void
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    raise exception using
        errcode = p_errcode,
        message = p_message,
        column = p_column,
        detail = p_detail,
        hint = p_column || ': ' || p_advice;
end;
$fn$;

comment on function dispatch._raise(text, text, text, text, text) is
$doc$Raise an error in the one shape that all functions share.

p_errcode is of class PD, p_message a constant phrase, p_column the argument at fault, p_advice
what to do about it, p_detail a bare reason code or empty. HINT repeats the argument at its
head, since COLUMN does not survive every hop.
Errors: the given code, always.$doc$;
-- end sql/30_functions/arguments/_raise.sql

-- begin sql/30_functions/arguments/_require_workspace.sql
create or replace function dispatch._require_workspace(p_workspace_id uuid)
returns void
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    perform dispatch._check_ids(array['p_workspace_id'], array[p_workspace_id]);
    if not exists (select from dispatch.workspace as w where w.id = p_workspace_id) then
        perform dispatch._raise(
            'PD404', 'workspace not found', 'p_workspace_id',
            'make it with put_workspace first.'
        );
    end if;
end;
$fn$;

comment on function dispatch._require_workspace(uuid) is
$doc$Refuse a workspace that is NULL, all zero or unknown.

Errors: PD400 argument missing or all-zero id, PD404 workspace not found.$doc$;
-- end sql/30_functions/arguments/_require_workspace.sql

-- begin sql/30_functions/claim/_check_claim.sql
create or replace function dispatch._check_claim(
    p_workspace_id uuid,
    p_runtime_ids uuid[],
    p_max integer,
    p_per_agent integer,
    p_start boolean,
    p_lease interval
)
returns void
language plpgsql
stable
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    if current_setting('transaction_isolation') <> 'read committed' then
        perform dispatch._check_isolation();
    end if;
    if p_workspace_id is null or p_workspace_id = '00000000-0000-0000-0000-000000000000' then
        perform dispatch._check_ids(array['p_workspace_id'], array[p_workspace_id]);
    elsif p_runtime_ids is null then
        perform dispatch._raise(
            'PD400', 'argument missing', 'p_runtime_ids', 'give an array of runtime ids.'
        );
    elsif p_max is null or p_max < 0 then
        perform dispatch._check_count('p_max', p_max);
    elsif p_per_agent is null or p_per_agent < 1 then
        perform dispatch._raise('PD400', 'count out of range', 'p_per_agent', '1 or more.');
    elsif p_start is null then
        perform dispatch._raise('PD400', 'argument missing', 'p_start', 'true or false.');
    elsif p_lease is not null then
        perform dispatch._check_lease('p_lease', p_lease);
    end if;
end;
$fn$;

comment on function dispatch._check_claim(
    uuid, uuid[], integer, integer, boolean, interval
) is
$doc$Refuse the first argument of a claim that is missing or out of its range.

Errors: PD400 argument missing, all-zero id, count or lease out of range, transaction too
strict.$doc$;
-- end sql/30_functions/claim/_check_claim.sql

-- begin sql/30_functions/claim/_claim.sql
-- Locks: agents by id where something is to be promoted, then what _claim_queued locks.
create or replace function dispatch._claim(
    p_workspace_id uuid,
    p_runtime_ids uuid[],
    p_agent_id uuid,
    p_max integer,
    p_per_agent integer,
    p_is_started boolean,
    p_lease interval,
    out claimed uuid[],
    out reclaimed uuid[]
)
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_now timestamptz := dispatch.clock();
    v_fresh uuid[];
    v_has_due boolean;
    v_has_stale boolean;
    v_due uuid[] := '{}'::uuid[];
begin
    claimed := '{}'::uuid[];
    reclaimed := '{}'::uuid[];
    select l.fresh, l.has_due, l.has_stale
    into v_fresh, v_has_due, v_has_stale
    from dispatch._look_at_runtimes(p_workspace_id, p_runtime_ids, v_now) as l;
    if v_fresh = '{}' then
        return;
    end if;
    if p_agent_id is null and v_has_due then
        v_due := dispatch._due_agents(p_workspace_id, v_fresh, v_now, 500);
        if cardinality(v_due) > 0 then
            perform dispatch._lock_claim_agents(p_workspace_id, v_due, true);
            v_now := dispatch.clock();
            perform dispatch._promote_due(p_workspace_id, v_fresh, v_due, 500, v_now);
        end if;
    end if;
    if p_agent_id is null and v_has_stale then
        reclaimed := dispatch._reclaim_stale(
            p_workspace_id, v_fresh, p_max,
            case
                when p_is_started then dispatch.prepare_lease()
                else coalesce(p_lease, dispatch.prepare_lease())
            end,
            v_now
        );
    end if;
    if cardinality(reclaimed) < p_max then
        claimed := dispatch._claim_queued(
            p_workspace_id, v_fresh, p_agent_id, cardinality(v_due) > 0,
            p_max - cardinality(reclaimed), p_per_agent, p_is_started,
            case
                when p_is_started then p_lease else coalesce(p_lease, dispatch.prepare_lease())
            end
        );
    end if;
end;
$fn$;

comment on function dispatch._claim(uuid, uuid[], uuid, integer, integer, boolean, interval) is
$doc$Promote, reclaim and claim for a machine, or (p_agent_id given) claim for one agent only.

Returns the newly claimed runs and those handed out again. Arguments were checked by the caller,
but not that the runtimes are of one daemon.
Errors: PD400 runtimes of two daemons.$doc$;
-- end sql/30_functions/claim/_claim.sql

-- begin sql/30_functions/claim/_claim_pairs.sql
-- Steps from agent to agent along the claim index, so that the cost is that of the agents with
-- queued runs and not of their backlog.
create or replace function dispatch._claim_pairs(p_workspace_id uuid, p_runtime_ids uuid[])
returns table (runtime_id uuid, agent_id uuid)
language plpgsql
stable
parallel safe
rows 10
set search_path = pg_catalog, pg_temp
as $fn$
begin
    return query
    with recursive pair as (
        select
            rt.id as runtime_id,
            (
                select r.agent_id
                from dispatch.run as r
                where r.workspace_id = p_workspace_id
                    and r.runtime_id = rt.id
                    and r.status = 'queued'
                order by r.agent_id
                limit 1
            ) as agent_id
        from unnest(p_runtime_ids) as rt (id)
        union all
        select
            p.runtime_id,
            (
                select r.agent_id
                from dispatch.run as r
                where r.workspace_id = p_workspace_id
                    and r.runtime_id = p.runtime_id
                    and r.status = 'queued'
                    and r.agent_id > p.agent_id
                order by r.agent_id
                limit 1
            )
        from pair as p
        where p.agent_id is not null
    )
    select p.runtime_id, p.agent_id
    from pair as p
    where p.agent_id is not null;
end;
$fn$;

comment on function dispatch._claim_pairs(uuid, uuid[]) is
$doc$List which agents have queued runs on which of the runtimes.

Errors: none.$doc$;
-- end sql/30_functions/claim/_claim_pairs.sql

-- begin sql/30_functions/claim/_claim_queued.sql
-- Locks: agents, then run rows. Only the agents whose runs come first are locked, and of those
-- the ones that nobody holds: claimers of one machine then serve different agents instead of
-- queueing up behind the first. Only a call that holds no agent at all waits for those that
-- others hold, by id, so no two claims wait for each other. The head of the order is tried
-- first, a little more of it than is wanted; only where that does not do are all agents asked.
create or replace function dispatch._claim_queued(
    p_workspace_id uuid,
    p_runtime_ids uuid[],
    p_agent_id uuid,
    p_is_holding boolean,
    p_max integer,
    p_per_agent integer,
    p_is_started boolean,
    p_lease interval
)
returns uuid[]
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_look constant integer := p_max + 8;
    v_runs uuid[];
    v_owners uuid[];
    v_open uuid[] := array[p_agent_id];
    v_agents uuid[] := '{}'::uuid[];
    v_free integer[] := '{}'::integer[];
    v_taken uuid[];
    v_claimed uuid[] := '{}'::uuid[];
    v_may_wait boolean := not p_is_holding;
begin
    if p_agent_id is null then
        select n.run_ids, n.agent_ids
        into v_runs, v_owners
        from dispatch._next_runs(p_workspace_id, p_runtime_ids, v_look) as n;
        if v_runs is null then
            return v_claimed;
        end if;
        select t.agents, t.free, t.taken
        into v_agents, v_free, v_claimed
        from dispatch._take_runs(
            p_workspace_id, p_runtime_ids, v_runs, v_owners, p_max, p_per_agent, v_agents,
            v_free
        ) as t;
        perform dispatch._mark_claimed(p_workspace_id, v_claimed, p_is_started, p_lease);
        v_open := '{}'::uuid[];
        if cardinality(v_claimed) < p_max and cardinality(v_runs) >= v_look then
            v_open := dispatch._waiting_agents(
                p_workspace_id, p_runtime_ids, v_agents, v_free
            );
        end if;
    end if;
    loop
        while cardinality(v_open) > 0 and cardinality(v_claimed) < p_max loop
            select array_agg(e.run_id order by e.place), array_agg(e.agent_id order by e.place)
            into v_runs, v_owners
            from dispatch._eligible_runs(
                p_workspace_id, p_runtime_ids, v_open, p_max - cardinality(v_claimed),
                p_per_agent
            ) with ordinality as e (run_id, agent_id, place);
            exit when v_runs is null;
            select t.agents, t.free, t.taken
            into v_agents, v_free, v_taken
            from dispatch._take_runs(
                p_workspace_id, p_runtime_ids, v_runs, v_owners,
                p_max - cardinality(v_claimed), p_per_agent, v_agents, v_free
            ) as t;
            perform dispatch._mark_claimed(p_workspace_id, v_taken, p_is_started, p_lease);
            v_claimed := v_claimed || v_taken;
            -- An agent stays while it has room, unless none of what was tried could be taken.
            v_open := array(
                select u.id
                from unnest(v_open) as u (id)
                left join unnest(v_agents, v_free) as s (agent_id, free) on s.agent_id = u.id
                where s.agent_id is null
                    or s.free > 0 and (v_taken <> '{}' or not u.id = any(v_owners))
            );
        end loop;
        exit when not v_may_wait or v_agents = '{}' or num_nonnulls(variadic v_free) > 0;
        perform dispatch._lock_claim_agents(p_workspace_id, v_agents, false);
        v_may_wait := false;
        v_open := v_agents;
        v_agents := '{}'::uuid[];
        v_free := '{}'::integer[];
    end loop;
    return v_claimed;
end;
$fn$;

comment on function dispatch._claim_queued(
    uuid, uuid[], uuid, boolean, integer, integer, boolean, interval
) is
$doc$Claim up to p_max queued runs of these runtimes, or of one agent on them.

p_is_holding says that the call holds agents already and must not wait for others. Agents that
another claim holds are left to it when this one holds any. Keeps each agent within its capacity
and p_per_agent. Returns the runs.
Errors: none.$doc$;
-- end sql/30_functions/claim/_claim_queued.sql

-- begin sql/30_functions/claim/_claimed_rows.sql
create or replace function dispatch._claimed_rows(
    p_workspace_id uuid,
    p_run_ids uuid[],
    p_reclaimed_ids uuid[]
)
returns setof dispatch.claimed_run
language plpgsql
volatile
parallel unsafe
rows 10
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_run uuid;
begin
    for v_run in
        select i.id
        from unnest(p_run_ids) as i (id)
        where exists (
            select
            from dispatch.run_trigger as t
            where t.workspace_id = p_workspace_id and t.run_id = i.id
        )
    loop
        perform dispatch._deliver_triggers(p_workspace_id, v_run);
    end loop;
    return query
    select
        r.id, r.workspace_id, r.agent_id, r.runtime_id, r.issue_id, d.chat_session_id,
        d.autopilot_run_id, r.claim_no, r.attempt, r.priority, d.reason, d.payload,
        coalesce(t.triggers, jsonb_build_array(dispatch._trigger_json(
            d.requested_at, 'queued', d.source, d.reason, d.payload, d.idempotency_key,
            d.comment_id, d.actor_type, d.actor_id, d.originator_id, 1
        ))),
        r.requested_at, r.dispatched_at, r.lease_expires_at, d.originator_id, d.accountable_id,
        d.attribution_source, d.is_leader_run, d.squad_id, d.handoff_note, d.session_id,
        d.work_dir, r.id = any(p_reclaimed_ids)
    from unnest(p_run_ids) as i (id)
    cross join lateral (
        select
            s.id, s.workspace_id, s.agent_id, s.runtime_id, s.issue_id, s.claim_no, s.attempt,
            s.priority, s.requested_at, s.dispatched_at, s.lease_expires_at
        from dispatch.run as s
        where s.workspace_id = p_workspace_id and s.id = i.id
        limit 1
    ) as r
    cross join lateral (
        select
            s.chat_session_id, s.autopilot_run_id, s.reason, s.source, s.payload,
            s.idempotency_key, s.comment_id, s.requested_at, s.actor_type, s.actor_id,
            s.originator_id, s.accountable_id, s.attribution_source, s.is_leader_run,
            s.squad_id, s.handoff_note, s.session_id, s.work_dir
        from dispatch.run_detail as s
        where s.workspace_id = p_workspace_id and s.run_id = i.id
        limit 1
    ) as d
    left join lateral (
        select jsonb_agg(
            dispatch._trigger_json(
                g.at, g.outcome, g.source, g.reason, g.payload, g.idempotency_key, g.comment_id,
                g.actor_type, g.actor_id, g.originator_id, g.count
            )
            order by g.seq
        ) as triggers
        from dispatch.run_trigger as g
        where g.workspace_id = p_workspace_id
            and g.run_id = r.id
            and g.delivered_count = g.count
    ) as t on true
    order by r.priority desc, r.requested_at, r.id;
end;
$fn$;

comment on function dispatch._claimed_rows(uuid, uuid[], uuid[]) is
$doc$Give the just claimed runs as a daemon gets them, in claim order, and mark what is
delivered.

Errors: none.$doc$;
-- end sql/30_functions/claim/_claimed_rows.sql

-- begin sql/30_functions/claim/_deliver_triggers.sql
-- Runs after the statement that moved the run rows and not inside it: a wake that was recorded
-- while that statement waited would be lost. The order of arrival is that of seq.
create or replace function dispatch._deliver_triggers(p_workspace_id uuid, p_run_id uuid)
returns void
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    with sized as (
        select
            t.run_id, t.seq, t.count,
            octet_length(dispatch._trigger_json(
                t.at, t.outcome, t.source, t.reason, t.payload, t.idempotency_key, t.comment_id,
                t.actor_type, t.actor_id, t.originator_id, t.count
            )::text) as size,
            row_number() over (partition by t.run_id order by t.last_at desc, t.seq desc) = 1
            as is_newest
        from dispatch.run_trigger as t
        where t.workspace_id = p_workspace_id and t.run_id = p_run_id
    ),
    summed as (
        select
            z.run_id, z.seq, z.count, z.is_newest,
            sum(case when z.is_newest then z.size else 0 end) over (partition by z.run_id)
            + sum(case when z.is_newest then 0 else z.size end) over (
                partition by z.run_id order by z.seq
            ) as running_size
        from sized as z
    )
    update dispatch.run_trigger as t
    set delivered_count = case
        when s.is_newest or s.running_size <= dispatch.trigger_budget() then t.count else 0
    end
    from summed as s
    where t.workspace_id = p_workspace_id and t.run_id = p_run_id and t.seq = s.seq;
end;
$fn$;

comment on function dispatch._deliver_triggers(uuid, uuid) is
$doc$Mark which wakes of a just claimed run this claim delivers.

The newest always, then the oldest in order of arrival as long as all together fit
trigger_budget(); what does not fit stays owed.
Errors: none.$doc$;
-- end sql/30_functions/claim/_deliver_triggers.sql

-- begin sql/30_functions/claim/_due_agents.sql
create or replace function dispatch._due_agents(
    p_workspace_id uuid,
    p_runtime_ids uuid[],
    p_now timestamptz,
    p_max integer
)
returns uuid[]
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_fresh constant uuid[] := dispatch._fresh_runtimes(p_workspace_id, p_runtime_ids, p_now);
begin
    return array(
        select distinct d.agent_id
        from (
            select r.agent_id
            from unnest(v_fresh) as rt (id)
            cross join lateral (
                select s.agent_id, s.fire_at
                from dispatch.run as s
                where s.workspace_id = p_workspace_id
                    and s.runtime_id = rt.id
                    and s.status = 'deferred'
                    and s.fire_at <= p_now
                    and not exists (
                        select
                        from dispatch.run as o
                        where o.workspace_id = p_workspace_id
                            and o.agent_id = s.agent_id
                            and o.issue_id = s.issue_id
                            and o.status in ('queued', 'dispatched')
                    )
                order by s.fire_at
                limit p_max
            ) as r
            order by r.fire_at
            limit p_max
        ) as d
    );
end;
$fn$;

comment on function dispatch._due_agents(uuid, uuid[], timestamptz, integer) is
$doc$Give the agents of the p_max deferred runs on those of these runtimes that are fresh that
are longest due at p_now and whose pending slot is free.

Errors: none.$doc$;
-- end sql/30_functions/claim/_due_agents.sql

-- begin sql/30_functions/claim/_eligible_runs.sql
-- The choice is materialized, since a planner that nests it would run the limits once per outer
-- row. Every table is reached by a lateral look-up: a plan made while the tables are empty can
-- then do nothing but walk the right index.
create or replace function dispatch._eligible_runs(
    p_workspace_id uuid,
    p_runtime_ids uuid[],
    p_agent_ids uuid[],
    p_max integer,
    p_per_agent integer
)
returns table (run_id uuid, agent_id uuid)
language plpgsql
stable
parallel safe
rows 10
set search_path = pg_catalog, pg_temp
as $fn$
begin
    return query
    with eligible as materialized (
        select
            q.id, m.agent_id, q.priority, q.requested_at, m.free,
            row_number() over (
                partition by m.agent_id order by q.priority desc, q.requested_at, q.id
            ) as place,
            row_number() over (
                partition by m.agent_id, q.lane
                order by q.priority desc, q.requested_at, q.id
            ) as lane_place
        from (select distinct i.id from unnest(p_agent_ids) as i (id)) as g
        cross join lateral (
            select
                a.id as agent_id,
                least(p_per_agent, p_max, a.max_concurrent_runs - (
                    select count(*)
                    from dispatch.run as b
                    where b.workspace_id = p_workspace_id
                        and b.agent_id = a.id
                        and b.status in (
                            'dispatched', 'waiting_local_directory', 'running'
                        )
                )) as free
            from dispatch.agent as a
            where a.workspace_id = p_workspace_id
                and a.id = g.id
                and a.status = 'active'
                and a.archived_at is null
            limit 1
        ) as m
        cross join unnest(p_runtime_ids) as rt (id)
        cross join lateral (
            select r.id, r.lane, r.priority, r.requested_at
            from dispatch.run as r
            where r.workspace_id = p_workspace_id
                and r.runtime_id = rt.id
                and r.agent_id = m.agent_id
                and r.status = 'queued'
                and not exists (
                    select
                    from dispatch.run as b
                    where b.workspace_id = p_workspace_id
                        and b.agent_id = r.agent_id
                        and b.lane = r.lane
                        and b.status in (
                            'dispatched', 'waiting_local_directory', 'running'
                        )
                )
                -- Only a chat session's or the quick-create lane can queue several runs.
                and (r.issue_id is not null or r.lane = r.id or r.id = (
                    select e.id
                    from dispatch.run as e
                    where e.workspace_id = p_workspace_id
                        and e.agent_id = r.agent_id
                        and e.lane = r.lane
                        and e.status = 'queued'
                        and e.issue_id is null
                        and e.lane <> e.id
                        and e.runtime_id = any(p_runtime_ids)
                    order by e.priority desc, e.requested_at, e.id
                    limit 1
                ))
            order by r.priority desc, r.requested_at, r.id
            limit greatest(m.free, 0)
        ) as q
    )
    select e.id, e.agent_id
    from eligible as e
    where e.place <= e.free and e.lane_place = 1
    order by e.priority desc, e.requested_at, e.id
    limit p_max;
end;
$fn$;

comment on function dispatch._eligible_runs(uuid, uuid[], uuid[], integer, integer) is
$doc$List up to p_max queued runs of these agents on these runtimes that may be claimed, in
claim order.

Keeps each agent within its capacity and p_per_agent, and one active run a lane; a run that may
not start yet hides none behind it. Order: priority, request, id. Holds for as long as the
caller holds the agents; without their locks it is a guess. Rule: issue-to-run 4.
Errors: none.$doc$;
-- end sql/30_functions/claim/_eligible_runs.sql

-- begin sql/30_functions/claim/_fresh_runtimes.sql
create or replace function dispatch._fresh_runtimes(
    p_workspace_id uuid,
    p_runtime_ids uuid[],
    p_now timestamptz
)
returns uuid[]
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    return array(
        select r.id
        from unnest(p_runtime_ids) as i (id)
        cross join lateral (
            select t.id
            from dispatch.runtime as t
            where t.workspace_id = p_workspace_id
                and t.id = i.id
                and t.status = 'online'
                and coalesce(t.last_seen_at, t.updated_at)
                >= p_now - dispatch.runtime_freshness()
            limit 1
        ) as r
    );
end;
$fn$;

comment on function dispatch._fresh_runtimes(uuid, uuid[], timestamptz) is
$doc$Give those of the runtimes that are online and were seen within runtime_freshness() of
p_now.

Errors: none.$doc$;
-- end sql/30_functions/claim/_fresh_runtimes.sql

-- begin sql/30_functions/claim/_hold_agent.sql
-- Locks: the agent FOR NO KEY UPDATE, skip locked: never waits, so it may be called while
-- others are held. What is counted in the statements after it holds until the commit.
create or replace function dispatch._hold_agent(
    p_workspace_id uuid,
    p_agent_id uuid,
    p_per_agent integer
)
returns integer
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_capacity integer;
    v_active bigint;
    v_has_retries boolean;
begin
    select case when a.status = 'active' then a.max_concurrent_runs else 0 end
    into v_capacity
    from dispatch.agent as a
    where a.workspace_id = p_workspace_id and a.id = p_agent_id
    for no key update skip locked;
    if not found then
        return null;
    elsif v_capacity = 0 or dispatch._workspace_is_paused(p_workspace_id) then
        return 0;
    end if;
    select
        (
            select count(*)
            from dispatch.run as b
            where b.workspace_id = p_workspace_id
                and b.agent_id = p_agent_id
                and b.status in ('dispatched', 'waiting_local_directory', 'running')
        ),
        exists (
            select
            from dispatch.run as d
            where d.workspace_id = p_workspace_id
                and d.agent_id = p_agent_id
                and d.status = 'deferred'
                and d.attempt > 1
                and d.claim_no = 0
                and d.issue_id is not null
        )
    into v_active, v_has_retries;
    -- Before the runs are handed out, so that they deliver what the retries stood for.
    if v_has_retries and v_active < v_capacity then
        perform dispatch._drop_superseded(
            p_workspace_id, array[p_agent_id], dispatch.clock()
        );
    end if;
    return greatest(least(p_per_agent, v_capacity - v_active), 0)::integer;
end;
$fn$;

comment on function dispatch._hold_agent(uuid, uuid, integer) is
$doc$Hold an agent until the transaction ends, and tell how many runs it may be handed now, at
most p_per_agent.

NULL when another claim holds it; 0 for an agent that is full or not active, and in a paused
workspace.
Errors: none.$doc$;
-- end sql/30_functions/claim/_hold_agent.sql

-- begin sql/30_functions/claim/_hold_runs.sql
-- Locks: run rows, skip locked. Asked in the statement that locks them, whose snapshot is
-- younger than the agents' locks. The status is compared with a variable, so that the key's
-- index is the only one that offers itself.
create or replace function dispatch._hold_runs(
    p_workspace_id uuid,
    p_run_ids uuid[],
    p_runtime_ids uuid[],
    p_since timestamptz
)
returns uuid[]
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_queued constant dispatch.run_status := 'queued'::dispatch.run_status;
begin
    return array(
        select h.id
        from (
            select
                k.id,
                row_number() over (partition by k.agent_id, k.lane order by i.place) as place
            from unnest(p_run_ids) with ordinality as i (id, place)
            cross join lateral (
                select r.id, r.agent_id, r.lane
                from dispatch.run as r
                where r.workspace_id = p_workspace_id
                    and r.id = i.id
                    and r.status = v_queued
                    and r.runtime_id = any(p_runtime_ids)
                    and exists (
                        select
                        from dispatch.runtime as t
                        where t.workspace_id = p_workspace_id
                            and t.id = r.runtime_id
                            and t.status = 'online'
                            and coalesce(t.last_seen_at, t.updated_at) >= p_since
                    )
                    and not exists (
                        select
                        from dispatch.run as b
                        where b.workspace_id = p_workspace_id
                            and b.agent_id = r.agent_id
                            and b.lane = r.lane
                            and b.status in ('dispatched', 'waiting_local_directory', 'running')
                    )
                    -- Only a chat session's or the quick-create lane can queue several runs.
                    and (r.issue_id is not null or r.lane = r.id or r.id = (
                        select e.id
                        from dispatch.run as e
                        where e.workspace_id = p_workspace_id
                            and e.agent_id = r.agent_id
                            and e.lane = r.lane
                            and e.status = 'queued'
                            and e.issue_id is null
                            and e.lane <> e.id
                            and e.runtime_id = any(p_runtime_ids)
                        order by e.priority desc, e.requested_at, e.id
                        limit 1
                    ))
                limit 1
                for no key update of r skip locked
            ) as k
        ) as h
        where h.place = 1
    );
end;
$fn$;

comment on function dispatch._hold_runs(uuid, uuid[], uuid[], timestamptz) is
$doc$Hold those of these runs that may be claimed until the transaction ends, and give them.

Each must be queued on one of the runtimes, which is online and was seen since p_since, its lane
must be idle, and no other queued run may come before it in its lane; of several in one lane the
first given is held. The caller holds the agents.
Errors: none.$doc$;
-- end sql/30_functions/claim/_hold_runs.sql

-- begin sql/30_functions/claim/_known_runtimes.sql
create or replace function dispatch._known_runtimes(p_workspace_id uuid, p_runtime_ids uuid[])
returns uuid[]
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_known uuid[];
    v_daemons bigint;
begin
    if p_runtime_ids is null then
        perform dispatch._raise(
            'PD400', 'argument missing', 'p_runtime_ids', 'give an array of runtime ids.'
        );
    end if;
    select array_agg(r.id order by r.id), count(distinct r.daemon_id)
    into v_known, v_daemons
    from (select distinct u.id from unnest(p_runtime_ids) as u (id)) as i
    cross join lateral (
        select t.id, t.daemon_id
        from dispatch.runtime as t
        where t.workspace_id = p_workspace_id and t.id = i.id
        limit 1
    ) as r;
    if v_daemons > 1 then
        perform dispatch._raise(
            'PD400', 'runtimes of two daemons', 'p_runtime_ids',
            'name the runtimes of one daemon in one call.'
        );
    end if;
    return coalesce(v_known, '{}');
end;
$fn$;

comment on function dispatch._known_runtimes(uuid, uuid[]) is
$doc$Give those of the runtimes that the workspace has, each once; unknown ids are left out.

Errors: PD400 argument missing, or the runtimes belong to more than one daemon.$doc$;
-- end sql/30_functions/claim/_known_runtimes.sql

-- begin sql/30_functions/claim/_lock_claim_agents.sql
-- Locks: agents by id in one pass. A claim that only counts takes FOR NO KEY UPDATE, for which
-- no enqueue waits. Promotion takes FOR UPDATE: it moves runs into the pending slot, and an
-- enqueue that took the slot meanwhile would break the update on the slot's index.
create or replace function dispatch._lock_claim_agents(
    p_workspace_id uuid,
    p_agent_ids uuid[],
    p_is_promoting boolean
)
returns void
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    if p_is_promoting then
        perform
        from (select distinct u.id from unnest(p_agent_ids) as u (id) order by u.id) as i
        cross join lateral (
            select
            from dispatch.agent as a
            where a.workspace_id = p_workspace_id and a.id = i.id
            limit 1
            for update
        ) as k;
    else
        perform
        from (select distinct u.id from unnest(p_agent_ids) as u (id) order by u.id) as i
        cross join lateral (
            select
            from dispatch.agent as a
            where a.workspace_id = p_workspace_id and a.id = i.id
            limit 1
            for no key update
        ) as k;
    end if;
end;
$fn$;

comment on function dispatch._lock_claim_agents(uuid, uuid[], boolean) is
$doc$Serialise claims for these agents until the transaction ends.

Errors: none.$doc$;
-- end sql/30_functions/claim/_lock_claim_agents.sql

-- begin sql/30_functions/claim/_look_at_runtimes.sql
-- All that a claim has to know before it takes a lock, since every idle daemon asks it all the
-- time: one look-up by key a runtime.
create or replace function dispatch._look_at_runtimes(
    p_workspace_id uuid,
    p_runtime_ids uuid[],
    p_now timestamptz,
    out fresh uuid[],
    out has_due boolean,
    out has_stale boolean
)
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_id uuid;
    v_daemon text;
    v_first text;
    v_is_fresh boolean;
    v_is_due boolean;
    v_is_stale boolean;
begin
    fresh := '{}'::uuid[];
    has_due := false;
    has_stale := false;
    foreach v_id in array p_runtime_ids loop
        select
            t.daemon_id,
            t.status = 'online'
            and coalesce(t.last_seen_at, t.updated_at)
            >= p_now - dispatch.runtime_freshness(),
            exists (
                select
                from dispatch.run as d
                where d.workspace_id = p_workspace_id
                    and d.runtime_id = v_id
                    and d.status = 'deferred'
                    and d.fire_at <= p_now
            ),
            exists (
                select
                from dispatch.run as s
                where s.workspace_id = p_workspace_id
                    and s.runtime_id = v_id
                    and s.status = 'dispatched'
                    and s.dispatched_at < p_now - dispatch.claim_recovery_window()
            )
        into v_daemon, v_is_fresh, v_is_due, v_is_stale
        from dispatch.runtime as t
        where t.workspace_id = p_workspace_id and t.id = v_id;
        continue when not found;
        v_first := coalesce(v_first, v_daemon);
        if v_daemon <> v_first then
            perform dispatch._raise(
                'PD400', 'runtimes of two daemons', 'p_runtime_ids',
                'name the runtimes of one daemon in one call.'
            );
        end if;
        if v_is_fresh and not v_id = any(fresh) then
            fresh := fresh || v_id;
            has_due := has_due or v_is_due;
            has_stale := has_stale or v_is_stale;
        end if;
    end loop;
end;
$fn$;

comment on function dispatch._look_at_runtimes(uuid, uuid[], timestamptz) is
$doc$Tell which of these runtimes are fresh at p_now, and whether deferred runs of those may be
due or claims of those may be stale.

Ids that the workspace does not know are left out.
Errors: PD400 the runtimes belong to more than one daemon.$doc$;
-- end sql/30_functions/claim/_look_at_runtimes.sql

-- begin sql/30_functions/claim/_mark_claimed.sql
create or replace function dispatch._mark_claimed(
    p_workspace_id uuid,
    p_run_ids uuid[],
    p_is_started boolean,
    p_lease interval
)
returns void
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    if cardinality(p_run_ids) > 0 then
        perform dispatch._move_runs(
            p_workspace_id, p_run_ids,
            case when p_is_started then 'running'::dispatch.run_status else 'dispatched' end,
            true, array_fill(p_lease, array[cardinality(p_run_ids)]), dispatch.clock()
        );
    end if;
end;
$fn$;

comment on function dispatch._mark_claimed(uuid, uuid[], boolean, interval) is
$doc$Move queued runs, which the caller holds, to dispatched or to running, with the next claim
number.

Errors: none.$doc$;
-- end sql/30_functions/claim/_mark_claimed.sql

-- begin sql/30_functions/claim/_next_runs.sql
-- The head of the order, without a look at agents and lanes: mostly the runs that a claim takes
-- stand there. A claim that finds too few of them asks _eligible_runs. That no claim number is
-- negative is said for the sake of the index, which serves nothing that does not say so.
create or replace function dispatch._next_runs(
    p_workspace_id uuid,
    p_runtime_ids uuid[],
    p_max integer,
    out run_ids uuid[],
    out agent_ids uuid[]
)
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    select array_agg(o.id), array_agg(o.agent_id)
    into run_ids, agent_ids
    from (
        select q.id, q.agent_id
        from unnest(p_runtime_ids) as rt (id)
        cross join lateral (
            select r.id, r.agent_id, r.priority, r.requested_at
            from dispatch.run as r
            where r.workspace_id = p_workspace_id
                and r.runtime_id = rt.id
                and r.status = 'queued'
                and r.claim_no >= 0
            order by r.priority desc, r.requested_at, r.id
            limit p_max
        ) as q
        order by q.priority desc, q.requested_at, q.id
        limit p_max
    ) as o;
end;
$fn$;

comment on function dispatch._next_runs(uuid, uuid[], integer) is
$doc$Give the p_max first queued runs of these runtimes in claim order, and their agents.

Order: priority, request, id. NULLs when nothing is queued.
Errors: none.$doc$;
-- end sql/30_functions/claim/_next_runs.sql

-- begin sql/30_functions/claim/_take_runs.sql
-- Locks: agents, each when its first run comes, then run rows; waits for none. Whatever was
-- guessed before the locks is decided under them: runs are chosen in their order as long as
-- their agents have room and held by one statement; those that may not be claimed after all
-- give their room to the next.
create or replace function dispatch._take_runs(
    p_workspace_id uuid,
    p_runtime_ids uuid[],
    p_run_ids uuid[],
    p_owner_ids uuid[],
    p_max integer,
    p_per_agent integer,
    inout agents uuid[],
    inout free integer[],
    out taken uuid[]
)
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_since timestamptz;
    v_at integer;
    v_tried uuid[] := '{}'::uuid[];
    v_chosen uuid[];
    v_held uuid[];
begin
    taken := '{}'::uuid[];
    loop
        v_chosen := '{}'::uuid[];
        for v_i in 1..cardinality(p_run_ids) loop
            exit when cardinality(taken) + cardinality(v_chosen) >= p_max;
            continue when p_run_ids[v_i] = any(v_tried);
            v_at := array_position(agents, p_owner_ids[v_i]);
            if v_at is null then
                v_at := cardinality(agents) + 1;
                agents[v_at] := p_owner_ids[v_i];
                free[v_at] := dispatch._hold_agent(
                    p_workspace_id, p_owner_ids[v_i], p_per_agent
                );
            end if;
            if free[v_at] > 0 then
                free[v_at] := free[v_at] - 1;
                v_chosen := v_chosen || p_run_ids[v_i];
            end if;
        end loop;
        exit when cardinality(v_chosen) = 0;

        v_since := coalesce(v_since, dispatch.clock() - dispatch.runtime_freshness());
        v_held := dispatch._hold_runs(p_workspace_id, v_chosen, p_runtime_ids, v_since);
        taken := taken || v_held;
        exit when cardinality(v_held) = cardinality(v_chosen);
        v_tried := v_tried || v_chosen;
        for v_i in 1..cardinality(p_run_ids) loop
            if p_run_ids[v_i] = any(v_chosen) and not p_run_ids[v_i] = any(v_held) then
                v_at := array_position(agents, p_owner_ids[v_i]);
                free[v_at] := free[v_at] + 1;
            end if;
        end loop;
    end loop;
end;
$fn$;

comment on function dispatch._take_runs(
    uuid, uuid[], uuid[], uuid[], integer, integer, uuid[], integer[]
) is
$doc$Hold those of these runs that may be claimed, in their order, at most p_max.

p_owner_ids are their agents in the same order. agents are those asked so far and free how many
more runs each may be handed, NULL while another claim holds it; both grow. Keeps each agent
within its capacity and p_per_agent, and one active run a lane. Rule: issue-to-run 4.
Errors: none.$doc$;
-- end sql/30_functions/claim/_take_runs.sql

-- begin sql/30_functions/claim/_trigger_json.sql
create or replace function dispatch._trigger_json(
    p_at timestamptz,
    p_outcome dispatch.outcome,
    p_source text,
    p_reason text,
    p_payload jsonb,
    p_idempotency_key text,
    p_comment_id uuid,
    p_actor_type text,
    p_actor_id uuid,
    p_originator_id uuid,
    p_count integer
)
returns jsonb
language sql
stable
parallel safe
as $fn$
select jsonb_build_object(
    'at', dispatch._instant_text(p_at),
    'outcome', p_outcome,
    'source', p_source,
    'reason', p_reason,
    'payload', p_payload,
    'idempotency_key', p_idempotency_key,
    'comment_id', p_comment_id,
    'actor_type', p_actor_type,
    'actor_id', p_actor_id,
    'originator_id', p_originator_id,
    'count', p_count
);
$fn$;

comment on function dispatch._trigger_json(
    timestamptz, dispatch.outcome, text, text, jsonb, text, uuid, text, uuid, uuid, integer
) is
$doc$Write one wake of a run as a claim returns it; instants are in UTC.

Errors: none.$doc$;
-- end sql/30_functions/claim/_trigger_json.sql

-- begin sql/30_functions/claim/_waiting_agents.sql
-- Steps from agent to agent along the claim index, so that the cost is that of the agents with
-- queued runs and not of their backlog.
create or replace function dispatch._waiting_agents(
    p_workspace_id uuid,
    p_runtime_ids uuid[],
    p_agents uuid[],
    p_free integer[]
)
returns uuid[]
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    return array(
        select distinct c.agent_id
        from dispatch._claim_pairs(p_workspace_id, p_runtime_ids) as c
        left join unnest(p_agents, p_free) as s (agent_id, free) on s.agent_id = c.agent_id
        where s.agent_id is null or s.free > 0
    );
end;
$fn$;

comment on function dispatch._waiting_agents(uuid, uuid[], uuid[], integer[]) is
$doc$Give the agents with queued runs on these runtimes that were not asked yet or may be handed
more.

p_agents are those asked and p_free how many more runs each may be handed, NULL while another
claim holds it.
Errors: none.$doc$;
-- end sql/30_functions/claim/_waiting_agents.sql

-- begin sql/30_functions/claim/claim_run.sql
-- The plan settings hold for everything that this function calls: a plan made while the tables
-- are empty is kept, and must walk the same indexes as one made over a million rows.
create or replace function dispatch.claim_run(
    p_workspace_id uuid,
    p_agent_id uuid,
    p_runtime_id uuid default null
)
returns setof dispatch.claimed_run
language plpgsql
volatile
parallel unsafe
rows 1
security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_material = off
set enable_sort = off
set jit = off
as $fn$
declare
    v_runtime uuid := p_runtime_id;
    v_claimed uuid[];
begin
    perform dispatch._check_isolation();
    perform dispatch._check_ids(
        array['p_workspace_id', 'p_agent_id'], array[p_workspace_id, p_agent_id]
    );
    perform dispatch._check_optional_ids(array['p_runtime_id'], array[p_runtime_id]);
    if v_runtime is null then
        select a.runtime_id
        into v_runtime
        from dispatch.agent as a
        where a.workspace_id = p_workspace_id and a.id = p_agent_id;
    end if;
    if v_runtime is null then
        return;
    end if;
    select c.claimed
    into v_claimed
    from dispatch._claim(
        p_workspace_id, array[v_runtime], p_agent_id, 1, 1, false, null
    ) as c;
    if v_claimed = '{}' then
        return;
    end if;
    return query
    select
        c.run_id, c.workspace_id, c.agent_id, c.runtime_id, c.issue_id, c.chat_session_id,
        c.autopilot_run_id, c.claim_no, c.attempt, c.priority, c.reason, c.payload, c.triggers,
        c.requested_at, c.dispatched_at, c.lease_expires_at, c.originator_id, c.accountable_id,
        c.attribution_source, c.is_leader_run, c.squad_id, c.handoff_note, c.session_id,
        c.work_dir, c.reclaimed
    from dispatch._claimed_rows(p_workspace_id, v_claimed, '{}') as c;
end;
$fn$;

comment on function dispatch.claim_run(uuid, uuid, uuid) is
$doc$Hand out the next queued run of one agent: one row, or none.

p_runtime_id is where it shall execute, left NULL the runtime that the agent is bound to.
Neither promotes nor reclaims. No rows for an unknown agent or runtime, an agent at its capacity
or not active, a runtime that is not fresh, or a paused workspace. Rule: issue-to-run 4.
Errors: PD400 missing or all-zero id, or a transaction stricter than READ COMMITTED (COLUMN
transaction_isolation).$doc$;
-- end sql/30_functions/claim/claim_run.sql

-- begin sql/30_functions/claim/claim_runs.sql
-- The plan settings hold for everything that this function calls: a plan made while the tables
-- are empty is kept, and must walk the same indexes as one made over a million rows.
create or replace function dispatch.claim_runs(
    p_workspace_id uuid,
    p_runtime_ids uuid[],
    p_max integer default 1,
    p_per_agent integer default 1,
    p_start boolean default false,
    p_lease interval default null
)
returns setof dispatch.claimed_run
language plpgsql
volatile
parallel unsafe
rows 10
security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_material = off
set enable_sort = off
set jit = off
as $fn$
declare
    v_max constant integer := least(p_max, dispatch.claim_batch_limit());
    v_claimed uuid[];
    v_reclaimed uuid[];
begin
    perform dispatch._check_claim(
        p_workspace_id, p_runtime_ids, p_max, p_per_agent, p_start, p_lease
    );
    if v_max = 0 then
        return;
    end if;
    select c.claimed, c.reclaimed
    into v_claimed, v_reclaimed
    from dispatch._claim(
        p_workspace_id, p_runtime_ids, null, v_max, p_per_agent, p_start, p_lease
    ) as c;
    if cardinality(v_claimed) + cardinality(v_reclaimed) = 0 then
        return;
    end if;
    return query
    select
        c.run_id, c.workspace_id, c.agent_id, c.runtime_id, c.issue_id, c.chat_session_id,
        c.autopilot_run_id, c.claim_no, c.attempt, c.priority, c.reason, c.payload, c.triggers,
        c.requested_at, c.dispatched_at, c.lease_expires_at, c.originator_id, c.accountable_id,
        c.attribution_source, c.is_leader_run, c.squad_id, c.handoff_note, c.session_id,
        c.work_dir, c.reclaimed
    from dispatch._claimed_rows(p_workspace_id, v_claimed || v_reclaimed, v_reclaimed) as c;
    if p_start then
        perform dispatch._settle_claimed(p_workspace_id, v_claimed);
    end if;
end;
$fn$;

comment on function dispatch.claim_runs(uuid, uuid[], integer, integer, boolean, interval) is
$doc$Hand a daemon the next runs of its runtimes.

First queues deferred runs that are due, then hands out again claims that were never confirmed,
then claims queued runs: by priority, then request, then id, within each agent's capacity, one
active run a lane. p_runtime_ids must belong to one daemon; unknown ones are skipped, and so are
runtimes that are not fresh, agents that are not active and a paused workspace. p_max counts all
runs returned and is clamped to 256; p_per_agent bounds the newly claimed runs of one agent.
p_start moves them straight to running, for daemons that prepare nothing; those handed out again
come dispatched all the same. p_lease is how long the claim is protected until start (default 45
s), or, with p_start, how long the run counts as alive without extend_lease (default: as long as
its runtime). The call returns all that it moved, or raises and moved nothing. Rule:
issue-to-run 4.
Errors: PD400 missing or malformed argument, lease out of range, runtimes of two daemons, or a
transaction stricter than READ COMMITTED (COLUMN transaction_isolation).$doc$;
-- end sql/30_functions/claim/claim_runs.sql

-- begin sql/30_functions/clock/_instant_text.sql
create or replace function dispatch._instant_text(p_at timestamptz)
returns text
language sql
stable
parallel safe
as $fn$
select to_char(p_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"');
$fn$;

comment on function dispatch._instant_text(timestamptz) is
$doc$Write an instant in UTC, whatever the session's time zone is.

Errors: none.$doc$;
-- end sql/30_functions/clock/_instant_text.sql

-- begin sql/30_functions/clock/_uuid_tick.sql
create or replace function dispatch._uuid_tick()
returns bigint
language sql
volatile
parallel safe
as $fn$
select floor(extract(epoch from clock_timestamp()) * 4096000)::bigint;
$fn$;

comment on function dispatch._uuid_tick() is
$doc$Give the time in units of 1/4096 ms, from which ids are minted.

Reads the server's clock itself, so that ids stay in order while tests hold dispatch.clock().
Errors: none.$doc$;
-- end sql/30_functions/clock/_uuid_tick.sql

-- begin sql/30_functions/clock/_uuid_v7.sql
-- The lower half of a random uuid already carries the variant bits, so only the upper half is
-- made.
create or replace function dispatch._uuid_v7(p_tick bigint)
returns uuid
language sql
volatile
parallel safe
as $fn$
select (
    lpad(to_hex(p_tick >> 12), 12, '0')
    || '7'
    || lpad(to_hex(p_tick & 4095), 3, '0')
    || substr(replace(gen_random_uuid()::text, '-', ''), 17)
)::uuid;
$fn$;

comment on function dispatch._uuid_v7(bigint) is
$doc$Mint a version 7 id for a tick: ids of ascending ticks ascend.

p_tick counts 1/4096 ms since 1970; a batch adds each element's position to one tick.
Errors: none.$doc$;
-- end sql/30_functions/clock/_uuid_v7.sql

-- begin sql/30_functions/clock/allowance_limit.sql
create or replace function dispatch.allowance_limit()
returns integer
language sql
immutable
parallel safe
as $fn$
select 5;
$fn$;

comment on function dispatch.allowance_limit() is
$doc$Give the number of agent-initiated assignment wakes that one issue may admit per window.

Allowance N.
Errors: none.$doc$;
-- end sql/30_functions/clock/allowance_limit.sql

-- begin sql/30_functions/clock/allowance_window.sql
create or replace function dispatch.allowance_window()
returns interval
language sql
immutable
parallel safe
as $fn$
select interval '10 minutes';
$fn$;

comment on function dispatch.allowance_window() is
$doc$Give the length of the window in which the assignment allowance is counted.

Allowance W, half-open: an admission exactly this old is out of it.
Errors: none.$doc$;
-- end sql/30_functions/clock/allowance_window.sql

-- begin sql/30_functions/clock/batch_limit.sql
create or replace function dispatch.batch_limit()
returns integer
language sql
immutable
parallel safe
as $fn$
select 1000;
$fn$;

comment on function dispatch.batch_limit() is
$doc$Give the largest number of elements in one batch.

Errors: none.$doc$;
-- end sql/30_functions/clock/batch_limit.sql

-- begin sql/30_functions/clock/claim_batch_limit.sql
create or replace function dispatch.claim_batch_limit()
returns integer
language sql
immutable
parallel safe
as $fn$
select 256;
$fn$;

comment on function dispatch.claim_batch_limit() is
$doc$Give the largest number of runs that one claim returns.

A larger p_max is clamped to it.
Errors: none.$doc$;
-- end sql/30_functions/clock/claim_batch_limit.sql

-- begin sql/30_functions/clock/claim_recovery_window.sql
create or replace function dispatch.claim_recovery_window()
returns interval
language sql
immutable
parallel safe
as $fn$
select interval '90 seconds';
$fn$;

comment on function dispatch.claim_recovery_window() is
$doc$Give the age beyond which a claim that was never confirmed is handed out again.

Longer than a daemon's time-outs for claim and start together.
Errors: none.$doc$;
-- end sql/30_functions/clock/claim_recovery_window.sql

-- begin sql/30_functions/clock/clock.sql
create or replace function dispatch.clock()
returns timestamptz
language sql
volatile
parallel safe
as $fn$
select clock_timestamp();
$fn$;

comment on function dispatch.clock() is
$doc$Tell the instant that every function of this schema writes and compares.

The wall clock of the server, not the start of the transaction. Nothing a caller can set changes
it.
Errors: none.$doc$;
-- end sql/30_functions/clock/clock.sql

-- begin sql/30_functions/clock/coalesce_window.sql
create or replace function dispatch.coalesce_window()
returns interval
language sql
immutable
parallel safe
as $fn$
select interval '5 seconds';
$fn$;

comment on function dispatch.coalesce_window() is
$doc$Give the age below which a queued run still merges an equal wake.

A run exactly this old does not merge.
Errors: none.$doc$;
-- end sql/30_functions/clock/coalesce_window.sql

-- begin sql/30_functions/clock/dispatch_timeout.sql
create or replace function dispatch.dispatch_timeout()
returns interval
language sql
immutable
parallel safe
as $fn$
select interval '300 seconds';
$fn$;

comment on function dispatch.dispatch_timeout() is
$doc$Give the age beyond which a sweep fails a run that was claimed and not started.

Only without a live lease.
Errors: none.$doc$;
-- end sql/30_functions/clock/dispatch_timeout.sql

-- begin sql/30_functions/clock/document_limit.sql
create or replace function dispatch.document_limit()
returns integer
language sql
immutable
parallel safe
as $fn$
select 1048576;
$fn$;

comment on function dispatch.document_limit() is
$doc$Give the largest payload or result in bytes of its text.

Errors: none.$doc$;
-- end sql/30_functions/clock/document_limit.sql

-- begin sql/30_functions/clock/duplicate_window.sql
create or replace function dispatch.duplicate_window()
returns interval
language sql
immutable
parallel safe
as $fn$
select interval '24 hours';
$fn$;

comment on function dispatch.duplicate_window() is
$doc$Give the age below which a run with the same key makes a wake a recent duplicate.

A run exactly this old is found by the durable index only.
Errors: none.$doc$;
-- end sql/30_functions/clock/duplicate_window.sql

-- begin sql/30_functions/clock/error_limit.sql
create or replace function dispatch.error_limit()
returns integer
language sql
immutable
parallel safe
as $fn$
select 65536;
$fn$;

comment on function dispatch.error_limit() is
$doc$Give the largest stored error text in bytes.

A longer one is cut at a character and marked.
Errors: none.$doc$;
-- end sql/30_functions/clock/error_limit.sql

-- begin sql/30_functions/clock/escalation_delay.sql
create or replace function dispatch.escalation_delay()
returns interval
language sql
immutable
parallel safe
as $fn$
select interval '5 minutes';
$fn$;

comment on function dispatch.escalation_delay() is
$doc$Give how long a wake of the assignee waits for the agent that was answered.

Errors: none.$doc$;
-- end sql/30_functions/clock/escalation_delay.sql

-- begin sql/30_functions/clock/gate_event_retention.sql
create or replace function dispatch.gate_event_retention()
returns interval
language sql
immutable
parallel safe
as $fn$
select interval '720 hours';
$fn$;

comment on function dispatch.gate_event_retention() is
$doc$Give how long a gate event is kept before it is summed up.

Errors: none.$doc$;
-- end sql/30_functions/clock/gate_event_retention.sql

-- begin sql/30_functions/clock/key_limit.sql
create or replace function dispatch.key_limit()
returns integer
language sql
immutable
parallel safe
as $fn$
select 255;
$fn$;

comment on function dispatch.key_limit() is
$doc$Give the largest idempotency key in bytes.

Errors: none.$doc$;
-- end sql/30_functions/clock/key_limit.sql

-- begin sql/30_functions/clock/max_delay.sql
create or replace function dispatch.max_delay()
returns interval
language sql
immutable
parallel safe
as $fn$
select interval '8784 hours';
$fn$;

comment on function dispatch.max_delay() is
$doc$Give how far ahead a run may be deferred.

366 times 24 hours.
Errors: none.$doc$;
-- end sql/30_functions/clock/max_delay.sql

-- begin sql/30_functions/clock/max_lease.sql
create or replace function dispatch.max_lease()
returns interval
language sql
immutable
parallel safe
as $fn$
select interval '24 hours';
$fn$;

comment on function dispatch.max_lease() is
$doc$Give the longest lease that may be asked for.

Errors: none.$doc$;
-- end sql/30_functions/clock/max_lease.sql

-- begin sql/30_functions/clock/name_limit.sql
create or replace function dispatch.name_limit()
returns integer
language sql
immutable
parallel safe
as $fn$
select 200;
$fn$;

comment on function dispatch.name_limit() is
$doc$Give the largest name in bytes.

Errors: none.$doc$;
-- end sql/30_functions/clock/name_limit.sql

-- begin sql/30_functions/clock/occurrence_lateness.sql
create or replace function dispatch.occurrence_lateness()
returns interval
language sql
immutable
parallel safe
as $fn$
select interval '5 minutes';
$fn$;

comment on function dispatch.occurrence_lateness() is
$doc$Give how late a planned instant may still fire.

Boundary included.
Errors: none.$doc$;
-- end sql/30_functions/clock/occurrence_lateness.sql

-- begin sql/30_functions/clock/prepare_lease.sql
create or replace function dispatch.prepare_lease()
returns interval
language sql
immutable
parallel safe
as $fn$
select interval '45 seconds';
$fn$;

comment on function dispatch.prepare_lease() is
$doc$Give the lease that a claim gets until its run is started.

Renewed by extend_lease and by wait_run.
Errors: none.$doc$;
-- end sql/30_functions/clock/prepare_lease.sql

-- begin sql/30_functions/clock/preview_limit.sql
create or replace function dispatch.preview_limit()
returns integer
language sql
immutable
parallel safe
as $fn$
select 500;
$fn$;

comment on function dispatch.preview_limit() is
$doc$Give the largest number of issues in one preview.

Errors: none.$doc$;
-- end sql/30_functions/clock/preview_limit.sql

-- begin sql/30_functions/clock/queued_ttl.sql
create or replace function dispatch.queued_ttl()
returns interval
language sql
immutable
parallel safe
as $fn$
select interval '7200 seconds';
$fn$;

comment on function dispatch.queued_ttl() is
$doc$Give the age beyond which a sweep fails a run that was never claimed.

Errors: none.$doc$;
-- end sql/30_functions/clock/queued_ttl.sql

-- begin sql/30_functions/clock/reason_limit.sql
create or replace function dispatch.reason_limit()
returns integer
language sql
immutable
parallel safe
as $fn$
select 100;
$fn$;

comment on function dispatch.reason_limit() is
$doc$Give the largest wake reason in bytes.

Errors: none.$doc$;
-- end sql/30_functions/clock/reason_limit.sql

-- begin sql/30_functions/clock/reconnect_grace.sql
create or replace function dispatch.reconnect_grace()
returns interval
language sql
immutable
parallel safe
as $fn$
select interval '3 hours';
$fn$;

comment on function dispatch.reconnect_grace() is
$doc$Give how long a silent runtime keeps the runs it has in hand.

Errors: none.$doc$;
-- end sql/30_functions/clock/reconnect_grace.sql

-- begin sql/30_functions/clock/run_retention.sql
create or replace function dispatch.run_retention()
returns interval
language sql
immutable
parallel safe
as $fn$
select interval '2160 hours';
$fn$;

comment on function dispatch.run_retention() is
$doc$Give how long a terminal run is kept.

Errors: none.$doc$;
-- end sql/30_functions/clock/run_retention.sql

-- begin sql/30_functions/clock/running_timeout.sql
create or replace function dispatch.running_timeout()
returns interval
language sql
immutable
parallel safe
as $fn$
select interval '9000 seconds';
$fn$;

comment on function dispatch.running_timeout() is
$doc$Give the age beyond which a sweep fails a running run of a silent runtime.

Never applied while heartbeats arrive.
Errors: none.$doc$;
-- end sql/30_functions/clock/running_timeout.sql

-- begin sql/30_functions/clock/runtime_freshness.sql
create or replace function dispatch.runtime_freshness()
returns interval
language sql
immutable
parallel safe
as $fn$
select interval '150 seconds';
$fn$;

comment on function dispatch.runtime_freshness() is
$doc$Give the age of a heartbeat up to which an online runtime counts as fresh.

Boundary included.
Errors: none.$doc$;
-- end sql/30_functions/clock/runtime_freshness.sql

-- begin sql/30_functions/clock/trigger_budget.sql
create or replace function dispatch.trigger_budget()
returns integer
language sql
immutable
parallel safe
as $fn$
select 524288;
$fn$;

comment on function dispatch.trigger_budget() is
$doc$Give how many bytes of wakes one claim returns for a run.

The newest wake is returned whatever its size.
Errors: none.$doc$;
-- end sql/30_functions/clock/trigger_budget.sql

-- begin sql/30_functions/clock/wake_channel.sql
create or replace function dispatch.wake_channel()
returns text
language sql
immutable
parallel safe
as $fn$
select 'dispatch_wake';
$fn$;

comment on function dispatch.wake_channel() is
$doc$Give the channel on which a runtime is told that a run may be claimable.

The payload is the runtime's id.
Errors: none.$doc$;
-- end sql/30_functions/clock/wake_channel.sql

-- begin sql/30_functions/comments/_check_comment.sql
-- An id that is no uuid is no shape error: whoever wrote it into a text gets an answer.
create or replace function dispatch._check_comment(p_body text, p_mentions jsonb)
returns void
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_mention record;
begin
    perform dispatch._check_text('p_body', p_body, dispatch.document_limit());
    perform dispatch._check_elements(
        'p_mentions', p_mentions, '{"type": "string", "id": "string"}', array['type']
    );
    for v_mention in
        select e.value ->> 'type' as kind, e.value ->> 'id' as id, e.ordinality - 1 as place
        from jsonb_array_elements(p_mentions) with ordinality as e (value, ordinality)
        order by e.ordinality
    loop
        perform dispatch._check_word(
            format('p_mentions[%s].type', v_mention.place), v_mention.kind,
            array['agent', 'squad', 'member', 'all']
        );
        if v_mention.kind <> 'all' and v_mention.id is null then
            perform dispatch._raise(
                'PD400', 'argument missing', format('p_mentions[%s].id', v_mention.place),
                'say whom the comment names.'
            );
        end if;
    end loop;
end;
$fn$;

comment on function dispatch._check_comment(text, jsonb) is
$doc$Refuse a body that is blank or longer than document_limit(), and mentions of a wrong shape.

Errors: PD400 argument missing, text too long, no array, too many elements, an element that is
no object, an unknown key or word, a value of a wrong kind.$doc$;
-- end sql/30_functions/comments/_check_comment.sql

-- begin sql/30_functions/comments/_comment_answers.sql
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
-- end sql/30_functions/comments/_comment_answers.sql

-- begin sql/30_functions/comments/_comment_attribution.sql
-- Only what the gate of admission does not work out by itself: it knows members, and agents
-- that act in a run. One resolver serves the invoke gate and the stamp, so they never disagree.
create or replace function dispatch._comment_attribution(
    p_workspace_id uuid,
    p_issue dispatch.issue,
    p_actor_type text,
    p_acting_run_id uuid,
    p_source text,
    out originator_id uuid,
    out accountable_id uuid,
    out attribution_source text,
    out delegated_from_run_id uuid
)
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_is_system constant boolean := p_actor_type = 'system';
begin
    if v_is_system and p_issue.creator_type = 'user' then
        select m.user_id, m.user_id, 'direct_human'
        into originator_id, accountable_id, attribution_source
        from dispatch.member as m
        where m.workspace_id = p_workspace_id and m.user_id = p_issue.creator_id;
    elsif v_is_system and p_issue.origin_type = 'agent_create'
        or p_actor_type = 'agent' and p_source = 'comment'
    then
        select
            d.originator_id, coalesce(d.originator_id, d.accountable_id),
            case when v_is_system then 'delegation' else 'comment_source' end, d.run_id
        into originator_id, accountable_id, attribution_source, delegated_from_run_id
        from dispatch.run_detail as d
        where d.workspace_id = p_workspace_id
            and d.run_id = case when v_is_system then p_issue.origin_id else p_acting_run_id end
            and num_nonnulls(d.originator_id, d.accountable_id) > 0;
    end if;
end;
$fn$;

comment on function dispatch._comment_attribution(
    uuid, dispatch.issue, text, uuid, text
) is
$doc$Give who answers for a comment's wake where its author is the system, or an agent that
names nobody.

For the system whoever answers for the issue: the member who created it, or those of the run
that did. For an agent those of its acting run. NULLs when there is nobody, and for all other
wakes, which admission attributes. Rule: dispatch 11.2.
Errors: none.$doc$;
-- end sql/30_functions/comments/_comment_attribution.sql

-- begin sql/30_functions/comments/_comment_runs.sql
create or replace function dispatch._comment_runs(p_workspace_id uuid, p_comment_ids uuid[])
returns uuid[]
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    return array(
        select f.run_id
        from unnest(p_comment_ids) as i (id)
        cross join lateral (
            select d.run_id
            from dispatch.run_detail as d
            where d.workspace_id = p_workspace_id and d.comment_id = i.id
            union
            select t.run_id
            from dispatch.run_trigger as t
            where t.workspace_id = p_workspace_id and t.comment_id = i.id
        ) as f
        group by f.run_id
        order by f.run_id
    );
end;
$fn$;

comment on function dispatch._comment_runs(uuid, uuid[]) is
$doc$Give the runs, in whatever state, that stand or stood for one of these comments, by id.

Errors: none.$doc$;
-- end sql/30_functions/comments/_comment_runs.sql

-- begin sql/30_functions/comments/_comment_targets.sql
-- The first rule that fits decides, and a later one is not asked when it gives nobody. Only
-- people's words wake the assignee, so that two agents do not keep each other busy.
create or replace function dispatch._comment_targets(
    p_workspace_id uuid,
    p_issue dispatch.issue,
    p_comment dispatch.comment
)
returns dispatch._target[]
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_targets dispatch._target[];
    v_parent_type text;
    v_parent_id uuid;
begin
    if p_comment.body ~* '^\s*/note(\s|$)' then
        return '{}'::dispatch._target[];
    end if;
    v_targets := dispatch._read_mentions(p_comment.mentions);
    if cardinality(v_targets) > 0 or p_comment.mentions <> '[]' then
        return v_targets;
    elsif p_comment.author_type <> 'user' and p_issue.assignee_type is distinct from 'squad'
    then
        return v_targets;
    end if;

    if p_comment.author_type = 'user' and p_comment.parent_id is not null then
        select c.author_type, c.author_id
        into v_parent_type, v_parent_id
        from dispatch.comment as c
        where c.workspace_id = p_workspace_id and c.id = p_comment.parent_id;
        if v_parent_type = 'agent' then
            return array[
                row('agent', v_parent_id, 'comment', true, null, null, null)::dispatch._target
            ];
        end if;
        v_targets := dispatch._thread_owners(p_workspace_id, p_comment.parent_id);
        if cardinality(v_targets) > 0 or v_parent_type = 'user' then
            return v_targets;
        end if;
    end if;
    if p_issue.assignee_type in ('agent', 'squad') then
        v_targets := array[
            row(
                p_issue.assignee_type, p_issue.assignee_id, 'comment', false, null, null, null
            )::dispatch._target
        ];
    end if;
    return v_targets;
end;
$fn$;

comment on function dispatch._comment_targets(uuid, dispatch.issue, dispatch.comment) is
$doc$Give the agents and squads that a comment asks for work.

The first that fits: nobody for a note (/note as its first word); the agents and squads that it
names; nobody when it names all or members only; for an agent's or the system's word the squad
that has the issue; for a reply to an agent that agent; for a reply to a member whoever the
thread belongs to; the assignee. Rule: dispatch 3.3.
Errors: none.$doc$;
-- end sql/30_functions/comments/_comment_targets.sql

-- begin sql/30_functions/comments/_comment_wake.sql
-- A wake that comes of an edit or a deletion has no key: the comment has woken the agent before
-- under the key that it would get.
create or replace function dispatch._comment_wake(
    p_workspace_id uuid,
    p_issue dispatch.issue,
    p_comment dispatch.comment,
    p_target dispatch._target,
    p_squad_id uuid,
    p_actor_type text,
    p_actor_id uuid,
    p_acting_run_id uuid,
    p_is_new boolean
)
returns dispatch.wake
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_wake dispatch.wake;
begin
    v_wake.agent_id := p_target.agent_id;
    v_wake.source := p_target.source;
    v_wake.reason := case p_target.source
        when 'mention' then 'task_mentioned' else 'task_comment'
    end;
    v_wake.payload := jsonb_build_object('task_id', p_issue.id, 'comment_id', p_comment.id);
    if p_is_new then
        v_wake.idempotency_key := format(
            '%s:%s:%s', v_wake.reason, p_comment.id, p_target.agent_id
        );
    end if;
    v_wake.issue_id := p_issue.id;
    v_wake.comment_id := p_comment.id;
    v_wake.priority := dispatch._priority_rank(p_issue.priority);
    v_wake.coalesce := true;
    v_wake.actor_type := p_actor_type;
    v_wake.actor_id := p_actor_id;
    v_wake.acting_run_id := p_acting_run_id;
    v_wake.evidence_kind := 'comment';
    v_wake.evidence_id := p_comment.id;
    v_wake.is_leader_run := p_squad_id is not null;
    v_wake.squad_id := p_squad_id;
    -- Whom a leader's run names works for the leader's squad.
    if p_squad_id is null and p_target.source = 'mention' then
        select d.squad_id
        into v_wake.squad_id
        from dispatch.run_detail as d
        where d.workspace_id = p_workspace_id
            and d.run_id = p_acting_run_id
            and d.is_leader_run;
    end if;
    select a.originator_id, a.accountable_id, a.attribution_source, a.delegated_from_run_id
    into
        v_wake.originator_id, v_wake.accountable_id, v_wake.attribution_source,
        v_wake.delegated_from_run_id
    from dispatch._comment_attribution(
        p_workspace_id, p_issue, p_actor_type, p_acting_run_id, p_target.source
    ) as a;
    if v_wake.attribution_source is not null then
        v_wake.skip := array['attribution'];
    end if;
    return v_wake;
end;
$fn$;

comment on function dispatch._comment_wake(
    uuid, dispatch.issue, dispatch.comment, dispatch._target, uuid, text, uuid, uuid, boolean
) is
$doc$Make the wake of a comment for one agent; p_squad_id is the squad whose leader it is asked
as.

The payload names the issue as task_id, and the comment. Rule: dispatch 3.3.
Errors: none.$doc$;
-- end sql/30_functions/comments/_comment_wake.sql

-- begin sql/30_functions/comments/_copy_wakes.sql
create or replace function dispatch._copy_wakes(
    p_workspace_id uuid,
    p_run_id uuid,
    p_kept dispatch.run_trigger[]
)
returns void
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_seq bigint;
begin
    select coalesce(max(t.seq), 0)
    into v_seq
    from dispatch.run_trigger as t
    where t.workspace_id = p_workspace_id and t.run_id = p_run_id;
    insert into dispatch.run_trigger (
        workspace_id, run_id, seq, at, last_at, outcome, source, reason, payload,
        idempotency_key, comment_id, actor_type, actor_id, originator_id, accountable_id,
        attribution_source, evidence_kind, evidence_id, delegated_from_run_id, count, inherited
    )
    select
        p_workspace_id, p_run_id, v_seq + k.ordinality, k.at, k.last_at, k.outcome, k.source,
        k.reason, k.payload, k.idempotency_key, k.comment_id, k.actor_type, k.actor_id,
        k.originator_id, k.accountable_id, k.attribution_source, k.evidence_kind,
        k.evidence_id, k.delegated_from_run_id, k.count, true
    from unnest(p_kept) with ordinality as k;
end;
$fn$;

comment on function dispatch._copy_wakes(uuid, uuid, dispatch.run_trigger[]) is
$doc$Append recorded wakes to those of another run, marked as counted elsewhere.

Errors: none.$doc$;
-- end sql/30_functions/comments/_copy_wakes.sql

-- begin sql/30_functions/comments/_hold_issue.sql
-- Locks: the issue FOR KEY SHARE, so that it is not deleted before the transaction ends.
create or replace function dispatch._hold_issue(p_workspace_id uuid, p_issue_id uuid)
returns dispatch.issue
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_issue dispatch.issue;
begin
    select
        i.workspace_id, i.id, i.number, i.title, i.status, i.priority, i.assignee_type,
        i.assignee_id, i.assignment_generation, i.creator_type, i.creator_id, i.origin_type,
        i.origin_id, i.parent_id, i.stage, i.created_at, i.updated_at
    into v_issue
    from dispatch.issue as i
    where i.workspace_id = p_workspace_id and i.id = p_issue_id
    for key share;
    return v_issue;
end;
$fn$;

comment on function dispatch._hold_issue(uuid, uuid) is
$doc$Give an issue and keep it from being deleted; NULLs when there is none.

Errors: none.$doc$;
-- end sql/30_functions/comments/_hold_issue.sql

-- begin sql/30_functions/comments/_insert_comment.sql
-- Locks: the parent FOR KEY SHARE, so that it is not deleted before the insert.
create or replace function dispatch._insert_comment(
    p_workspace_id uuid,
    p_comment dispatch.comment
)
returns void
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_now timestamptz;
begin
    if p_comment.parent_id is not null then
        perform
        from dispatch.comment as c
        where c.workspace_id = p_workspace_id
            and c.id = p_comment.parent_id
            and c.issue_id = p_comment.issue_id
        for key share;
        if not found then
            perform dispatch._raise(
                'PD404', 'parent not found', 'p_parent_id', 'name a comment of the issue.'
            );
        end if;
    end if;
    v_now := dispatch.clock();
    insert into dispatch.comment (
        workspace_id, id, issue_id, author_type, author_id, body, mentions, parent_id,
        source_run_id, created_at, updated_at
    )
    values (
        p_workspace_id, p_comment.id, p_comment.issue_id, p_comment.author_type,
        p_comment.author_id, p_comment.body, p_comment.mentions, p_comment.parent_id,
        p_comment.source_run_id, v_now, v_now
    );
end;
$fn$;

comment on function dispatch._insert_comment(uuid, dispatch.comment) is
$doc$Insert a comment; a parent must be of the same issue.

Errors: PD404 parent not found.$doc$;
-- end sql/30_functions/comments/_insert_comment.sql

-- begin sql/30_functions/comments/_judge_target.sql
-- The invoke gate comes before any state, so that the answer tells nothing to whom the agent is
-- not open. Only the guard comes before it: it speaks to the leader about itself.
create or replace function dispatch._judge_target(
    p_workspace_id uuid,
    p_comment dispatch.comment,
    p_target dispatch._target,
    p_actor_type text,
    p_originator_id uuid
)
returns dispatch._target
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_target dispatch._target := p_target;
    v_why text;
begin
    select t.agent_id, t.why
    into v_target.agent_id, v_why
    from dispatch._run_target(p_workspace_id, p_target.target_type, p_target.target_id) as t;
    if p_comment.author_type = 'agent' and p_target.target_type = 'squad' and exists (
        select from dispatch.squad as s
        where s.workspace_id = p_workspace_id
            and s.id = p_target.target_id
            and s.leader_id = p_comment.author_id
    ) then
        v_target := dispatch._self_trigger(p_workspace_id, p_comment.issue_id, v_target);
    end if;
    if v_target.code is not null then
        return v_target;
    elsif not dispatch._may_invoke(
        p_workspace_id, v_target.agent_id, p_actor_type, p_originator_id
    ) then
        v_target.code := 'invocation_not_allowed'::dispatch.reason_code;
        v_target.agent_id := null;
    elsif p_target.target_type = 'squad' then
        v_target.code := case v_why
            when 'squad_unavailable' then 'target_unavailable'::dispatch.reason_code
            when 'unbound' then 'agent_runtime_required'
            when 'runtime_unusable' then 'runtime_unusable'
            when 'leader_offline' then 'runtime_offline'
        end;
    end if;
    if p_target.is_dropped_quietly
        and (v_target.code is not null or v_why in ('archived', 'unbound'))
    then
        return null;
    end if;
    return v_target;
end;
$fn$;

comment on function dispatch._judge_target(
    uuid, dispatch.comment, dispatch._target, text, uuid
) is
$doc$Find the agent that would run a target's work, and settle the target where that cannot be;
NULL drops it.

invocation_not_allowed: the human at the top of the chain may not invoke the agent or the
squad's leader, or there is none. A squad needs a leader who could start at once:
target_unavailable, agent_runtime_required, runtime_unusable or runtime_offline. An agent's own
state is left to admission. Rule: dispatch 3.3.
Errors: none.$doc$;
-- end sql/30_functions/comments/_judge_target.sql

-- begin sql/30_functions/comments/_judge_targets.sql
create or replace function dispatch._judge_targets(
    p_workspace_id uuid,
    p_issue dispatch.issue,
    p_comment dispatch.comment,
    p_actor_type text,
    p_originator_id uuid
)
returns dispatch._target[]
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_targets dispatch._target[] := '{}'::dispatch._target[];
    v_target dispatch._target;
    v_human uuid := p_originator_id;
begin
    if p_actor_type = 'system' then
        v_human := (
            select a.originator_id
            from dispatch._comment_attribution(
                p_workspace_id, p_issue, p_actor_type, null, 'comment'
            ) as a
        );
    end if;
    foreach v_target in array
        dispatch._comment_targets(p_workspace_id, p_issue, p_comment)
    loop
        if v_target.code is null then
            v_target := dispatch._judge_target(
                p_workspace_id, p_comment, v_target, p_actor_type, v_human
            );
        end if;
        if v_target.target_type is not null then
            v_targets := v_targets || v_target;
        end if;
    end loop;
    return v_targets;
end;
$fn$;

comment on function dispatch._judge_targets(
    uuid, dispatch.issue, dispatch.comment, text, uuid
) is
$doc$Give whom a comment asks for work, each judged by who acts: p_originator_id is the human at
the top of the actor's chain, for the system whoever answers for the issue.

Errors: none.$doc$;
-- end sql/30_functions/comments/_judge_targets.sql

-- begin sql/30_functions/comments/_kept_wake.sql
create or replace function dispatch._kept_wake(
    p_workspace_id uuid,
    p_kept dispatch.run_trigger[]
)
returns dispatch.wake
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_first constant dispatch.run_trigger := p_kept[1];
    v_last constant dispatch.run_trigger := p_kept[cardinality(p_kept)];
    v_wake dispatch.wake;
begin
    select
        r.agent_id, r.issue_id, d.chat_session_id, r.priority, r.max_attempts,
        coalesce(a.runtime_id, r.runtime_id), d.squad_id, d.is_leader_run, d.handoff_note
    into
        v_wake.agent_id, v_wake.issue_id, v_wake.chat_session_id, v_wake.priority,
        v_wake.max_attempts, v_wake.runtime_id, v_wake.squad_id, v_wake.is_leader_run,
        v_wake.handoff_note
    from dispatch.run as r
    inner join dispatch.run_detail as d
        on d.workspace_id = r.workspace_id and d.run_id = r.id
    cross join lateral (
        select g.runtime_id
        from dispatch.agent as g
        where g.workspace_id = p_workspace_id and g.id = r.agent_id
        limit 1
    ) as a
    where r.workspace_id = p_workspace_id
        and d.workspace_id = p_workspace_id
        and r.id = v_last.run_id;
    v_wake.reason := v_first.reason;
    v_wake.source := v_first.source;
    v_wake.payload := case
        when v_last.comment_id is not null
            and v_first.reason = 'task_assigned'
            and jsonb_typeof(v_first.payload) = 'object'
            then v_first.payload || jsonb_build_object('comment_id', v_last.comment_id)
        else v_last.payload
    end;
    v_wake.comment_id := v_last.comment_id;
    v_wake.coalesce := false;
    v_wake.actor_type := v_first.actor_type;
    v_wake.actor_id := v_first.actor_id;
    v_wake.originator_id := v_last.originator_id;
    v_wake.accountable_id := v_last.accountable_id;
    v_wake.attribution_source := v_last.attribution_source;
    v_wake.evidence_kind := v_last.evidence_kind;
    v_wake.evidence_id := v_last.evidence_id;
    v_wake.delegated_from_run_id := v_last.delegated_from_run_id;
    v_wake.skip := array[
        'agent', 'attribution', 'pause', 'duplicate', 'coalesce', 'allowance', 'record'
    ];
    return v_wake;
end;
$fn$;

comment on function dispatch._kept_wake(uuid, dispatch.run_trigger[]) is
$doc$Make the wake of a run that stands for recorded wakes, given in order: asked for as the
first of them, with the payload and the attribution of the last, in the place of the run that
had that one.

Errors: none.$doc$;
-- end sql/30_functions/comments/_kept_wake.sql

-- begin sql/30_functions/comments/_kept_wakes.sql
-- Two runs of a pair may stand for one wake, by a rerun of the one; it is kept once.
create or replace function dispatch._kept_wakes(
    p_workspace_id uuid,
    p_run_ids uuid[],
    p_comment_ids uuid[]
)
returns setof dispatch.run_trigger
language plpgsql
stable
parallel safe
rows 10
set search_path = pg_catalog, pg_temp
as $fn$
begin
    return query
    select distinct on (
        t.at, t.source, t.reason, t.payload, t.idempotency_key, t.comment_id, t.actor_type,
        t.actor_id, t.originator_id
    )
        t.workspace_id, t.run_id, t.seq, t.at, t.last_at, t.outcome, t.source, t.reason,
        t.payload, t.idempotency_key, t.comment_id, t.actor_type, t.actor_id, t.originator_id,
        t.accountable_id, t.attribution_source, t.evidence_kind, t.evidence_id,
        t.delegated_from_run_id, t.count, t.delivered_count, t.inherited
    from unnest(p_run_ids) as i (id)
    cross join lateral (
        select s.follow_up_run_id
        from dispatch.run_detail as s
        where s.workspace_id = p_workspace_id and s.run_id = i.id
        limit 1
    ) as d
    cross join lateral (
        select
            s.workspace_id, s.run_id, s.seq, s.at, s.last_at, s.outcome, s.source, s.reason,
            s.payload, s.idempotency_key, s.comment_id, s.actor_type, s.actor_id,
            s.originator_id, s.accountable_id, s.attribution_source, s.evidence_kind,
            s.evidence_id, s.delegated_from_run_id, s.count, s.delivered_count, s.inherited
        from dispatch.run_trigger as s
        where s.workspace_id = p_workspace_id and s.run_id = i.id
        offset 0
    ) as t
    where not coalesce(t.comment_id = any(p_comment_ids), false)
        and not exists (
            select
            from dispatch.run_trigger as f
            where f.workspace_id = p_workspace_id
                and f.run_id = d.follow_up_run_id
                and f.inherited
                and f.at = t.at
                and f.source = t.source
                and f.reason = t.reason
                and f.comment_id is not distinct from t.comment_id
                and f.idempotency_key is not distinct from t.idempotency_key
        )
    order by
        t.at, t.source, t.reason, t.payload, t.idempotency_key, t.comment_id, t.actor_type,
        t.actor_id, t.originator_id, t.run_id, t.seq;
end;
$fn$;

comment on function dispatch._kept_wakes(uuid, uuid[], uuid[]) is
$doc$Give the wakes that runs stand for, each once, without those of p_comment_ids and those
that were handed over to a follow-up.

Errors: none.$doc$;
-- end sql/30_functions/comments/_kept_wakes.sql

-- begin sql/30_functions/comments/_lock_comment.sql
-- Locks: the comment's issue FOR KEY SHARE, then the comment, with p_is_doomed FOR UPDATE and
-- else FOR NO KEY UPDATE, under which replies may still come.
create or replace function dispatch._lock_comment(
    p_workspace_id uuid,
    p_comment_id uuid,
    p_is_doomed boolean
)
returns dispatch.comment
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_comment dispatch.comment;
begin
    perform dispatch._hold_issue(p_workspace_id, (
        select c.issue_id
        from dispatch.comment as c
        where c.workspace_id = p_workspace_id and c.id = p_comment_id
    ));
    if p_is_doomed then
        perform
        from dispatch.comment as c
        where c.workspace_id = p_workspace_id and c.id = p_comment_id
        for update;
    end if;
    select
        c.workspace_id, c.id, c.issue_id, c.author_type, c.author_id, c.body, c.mentions,
        c.parent_id, c.source_run_id, c.created_at, c.updated_at
    into v_comment
    from dispatch.comment as c
    where c.workspace_id = p_workspace_id and c.id = p_comment_id
    for no key update;
    if not found then
        perform dispatch._raise(
            'PD404', 'comment not found', 'p_comment_id', 'name a comment of the workspace.'
        );
    end if;
    return v_comment;
end;
$fn$;

comment on function dispatch._lock_comment(uuid, uuid, boolean) is
$doc$Lock a comment and its issue, and give the comment.

Errors: PD404 comment not found.$doc$;
-- end sql/30_functions/comments/_lock_comment.sql

-- begin sql/30_functions/comments/_lock_plans.sql
-- Locks: run rows FOR NO KEY UPDATE by id. The caller holds the agents FOR UPDATE, so no run
-- joins those that are found.
create or replace function dispatch._lock_plans(
    p_workspace_id uuid,
    p_issue_id uuid,
    p_agent_ids uuid[],
    p_run_ids uuid[]
)
returns void
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_runs uuid[];
begin
    v_runs := p_run_ids || array(
        select h.id
        from unnest(p_agent_ids) as a (id)
        cross join lateral (
            select r.id
            from dispatch.run as r
            where r.workspace_id = p_workspace_id
                and r.agent_id = a.id
                and r.issue_id = p_issue_id
                and r.status in ('queued', 'dispatched')
            limit 1
        ) as h
    );
    perform
    from (select distinct u.id from unnest(v_runs) as u (id) order by u.id) as i
    cross join lateral (
        select
        from dispatch.run as r
        where r.workspace_id = p_workspace_id and r.id = i.id
        limit 1
        for no key update
    ) as k;
end;
$fn$;

comment on function dispatch._lock_plans(uuid, uuid, uuid[], uuid[]) is
$doc$Lock these runs, and those that hold the pending slots of the issue and the agents.

Errors: none.$doc$;
-- end sql/30_functions/comments/_lock_plans.sql

-- begin sql/30_functions/comments/_lock_replies.sql
-- Locks: comments FOR UPDATE, a level of the thread at a time and by id within it. Each level
-- is looked for once the one above it is locked, under which no reply can come.
create or replace function dispatch._lock_replies(p_workspace_id uuid, p_comment_id uuid)
returns uuid[]
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_level uuid[] := array[p_comment_id];
    v_thread uuid[] := array[p_comment_id];
begin
    loop
        v_level := array(
            select c.id
            from dispatch.comment as c
            where c.workspace_id = p_workspace_id and c.parent_id = any(v_level)
            order by c.id
            for update
        );
        exit when cardinality(v_level) = 0;
        v_thread := v_thread || v_level;
    end loop;
    return v_thread;
end;
$fn$;

comment on function dispatch._lock_replies(uuid, uuid) is
$doc$Lock the replies to a locked comment, and give it and them.

Errors: none.$doc$;
-- end sql/30_functions/comments/_lock_replies.sql

-- begin sql/30_functions/comments/_planned_runs.sql
-- A wake that came too late for a run was handed over to its follow-up; the run never had it,
-- though the record of its coming stands.
create or replace function dispatch._planned_runs(p_workspace_id uuid, p_comment_ids uuid[])
returns uuid[]
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_ended constant dispatch.run_status[] := array[
        'completed', 'failed', 'cancelled'
    ]::dispatch.run_status[];
    v_runs uuid[] := '{}'::uuid[];
    v_run uuid;
begin
    foreach v_run in array dispatch._comment_runs(p_workspace_id, p_comment_ids) loop
        continue when exists (
            select
            from dispatch.run as r
            where r.workspace_id = p_workspace_id
                and r.id = v_run
                and r.status = any(v_ended)
        );
        -- A run without records stands for the one wake of its details.
        if not exists (
            select
            from dispatch.run_trigger as t
            where t.workspace_id = p_workspace_id and t.run_id = v_run
        ) or exists (
            select
            from dispatch._kept_wakes(p_workspace_id, array[v_run], '{}') as k
            where k.comment_id = any(p_comment_ids)
        ) then
            v_runs := v_runs || v_run;
        end if;
    end loop;
    return v_runs;
end;
$fn$;

comment on function dispatch._planned_runs(uuid, uuid[]) is
$doc$Give the runs that have not ended and stand for one of these comments, by id.

Errors: none.$doc$;
-- end sql/30_functions/comments/_planned_runs.sql

-- begin sql/30_functions/comments/_read_mentions.sql
create or replace function dispatch._read_mentions(p_mentions jsonb)
returns dispatch._target[]
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    return array(
        select row(
            m.kind, case when m.is_uuid then m.id end, 'mention', false, null,
            case when not m.is_uuid then 'target_unavailable' end, null
        )::dispatch._target
        from (
            select
                e.value ->> 'type' as kind, lower(e.value ->> 'id') as id,
                dispatch._is_uuid_text(e.value ->> 'id') as is_uuid,
                min(e.ordinality) as place
            from jsonb_array_elements(p_mentions) with ordinality as e (value, ordinality)
            where e.value ->> 'type' in ('agent', 'squad')
            group by 1, 2, 3
        ) as m
        order by m.place
    );
end;
$fn$;

comment on function dispatch._read_mentions(jsonb) is
$doc$Give the agents and squads that mentions name, each once, in the order given.

An id that is no uuid is target_unavailable. Rule: dispatch 3.3.
Errors: none.$doc$;
-- end sql/30_functions/comments/_read_mentions.sql

-- begin sql/30_functions/comments/_record_refusals.sql
create or replace function dispatch._record_refusals(
    p_workspace_id uuid,
    p_issue_id uuid,
    p_targets dispatch._target[],
    p_actor_type text,
    p_actor_id uuid
)
returns void
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_target dispatch._target;
    v_wake dispatch.wake;
    v_now timestamptz;
begin
    v_wake.issue_id := p_issue_id;
    v_wake.actor_type := p_actor_type;
    v_wake.actor_id := p_actor_id;
    foreach v_target in array p_targets loop
        continue when v_target.code is null or v_target.code = 'already_active';
        v_wake.agent_id := coalesce(
            v_target.agent_id,
            case v_target.target_type when 'agent' then v_target.target_id end
        );
        v_now := coalesce(v_now, dispatch.clock());
        perform dispatch._record_gate_event(
            p_workspace_id, v_now, v_target.code::text, v_wake, null, null
        );
    end loop;
end;
$fn$;

comment on function dispatch._record_refusals(
    uuid, uuid, dispatch._target[], text, uuid
) is
$doc$Record the targets of a comment that are refused before admission.

Errors: none.$doc$;
-- end sql/30_functions/comments/_record_refusals.sql

-- begin sql/30_functions/comments/_run_agents.sql
create or replace function dispatch._run_agents(p_workspace_id uuid, p_run_ids uuid[])
returns uuid[]
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    return array(
        select distinct r.agent_id
        from unnest(p_run_ids) as i (id)
        cross join lateral (
            select s.agent_id
            from dispatch.run as s
            where s.workspace_id = p_workspace_id and s.id = i.id
            limit 1
        ) as r
        order by r.agent_id
    );
end;
$fn$;

comment on function dispatch._run_agents(uuid, uuid[]) is
$doc$Give the agents of these runs, each once, by id.

Errors: none.$doc$;
-- end sql/30_functions/comments/_run_agents.sql

-- begin sql/30_functions/comments/_self_trigger.sql
-- A named squad is judged by whether its leader has the issue in hand, an unnamed one by what
-- the leader did there last: as a worker of the squad it reports to its own leading self.
create or replace function dispatch._self_trigger(
    p_workspace_id uuid,
    p_issue_id uuid,
    p_target dispatch._target
)
returns dispatch._target
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_target dispatch._target := p_target;
    v_run dispatch.run;
    v_is_leader boolean;
    v_squad uuid;
begin
    if v_target.source = 'mention' then
        v_run := dispatch._standing_pair_run(p_workspace_id, p_issue_id, v_target.agent_id);
        if v_run.id is not null and v_run.status <> 'deferred' then
            v_target.code := 'already_active'::dispatch.reason_code;
            v_target.run_id := v_run.id;
            return v_target;
        end if;
    else
        select d.is_leader_run, d.squad_id
        into v_is_leader, v_squad
        from dispatch.run_detail as d
        cross join lateral (
            select s.agent_id
            from dispatch.run as s
            where s.workspace_id = p_workspace_id and s.id = d.run_id
            limit 1
        ) as r
        where d.workspace_id = p_workspace_id
            and d.issue_id = p_issue_id
            and r.agent_id = v_target.agent_id
        order by d.requested_at desc, d.run_id desc
        limit 1;
        if not found or (not v_is_leader and v_squad = v_target.target_id) then
            return v_target;
        end if;
    end if;
    v_target.code := 'self_trigger_suppressed'::dispatch.reason_code;
    return v_target;
end;
$fn$;

comment on function dispatch._self_trigger(uuid, uuid, dispatch._target) is
$doc$Settle a squad that its own leader asks for work, unless the leader may wake itself.

Named: already_active with the run that the leader has on the issue, else
self_trigger_suppressed. Not named: passes when the leader has had no run on the issue, or its
last one there was a worker's of this squad. Rule: dispatch 8; issue-to-run 6.
Errors: none.$doc$;
-- end sql/30_functions/comments/_self_trigger.sql

-- begin sql/30_functions/comments/_store_edit.sql
create or replace function dispatch._store_edit(
    p_workspace_id uuid,
    p_comment dispatch.comment,
    p_body text,
    p_mentions jsonb,
    p_actor_type text,
    p_actor_id uuid,
    p_acting_run_id uuid
)
returns dispatch.comment
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_comment dispatch.comment := p_comment;
begin
    v_comment.body := p_body;
    v_comment.mentions := p_mentions;
    v_comment.source_run_id := case
        when p_comment.author_type = p_actor_type and p_comment.author_id = p_actor_id
            then p_acting_run_id
    end;
    v_comment.updated_at := dispatch.clock();
    update dispatch.comment as c
    set
        body = v_comment.body,
        mentions = v_comment.mentions,
        source_run_id = v_comment.source_run_id,
        updated_at = v_comment.updated_at
    where c.workspace_id = p_workspace_id and c.id = p_comment.id;
    return v_comment;
end;
$fn$;

comment on function dispatch._store_edit(
    uuid, dispatch.comment, text, jsonb, text, uuid, uuid
) is
$doc$Write the new text of a locked comment, and give the comment as it stands.

Errors: none.$doc$;
-- end sql/30_functions/comments/_store_edit.sql

-- begin sql/30_functions/comments/_thread_owners.sql
create or replace function dispatch._thread_owners(p_workspace_id uuid, p_comment_id uuid)
returns dispatch._target[]
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_root uuid := p_comment_id;
    v_parent uuid;
    v_mentions jsonb;
    v_named dispatch._target[];
    v_runs uuid[];
begin
    loop
        select c.parent_id, c.mentions
        into v_parent, v_mentions
        from dispatch.comment as c
        where c.workspace_id = p_workspace_id and c.id = v_root;
        exit when v_parent is null;
        v_root := v_parent;
    end loop;
    v_named := dispatch._read_mentions(v_mentions);
    if cardinality(v_named) > 0 then
        return array(
            select row(n.target_type, n.target_id, 'comment', true, null, null, null)
            ::dispatch._target
            from unnest(v_named[1:1]) as n
        );
    end if;
    v_runs := dispatch._comment_runs(p_workspace_id, array[v_root]);
    return array(
        select row('agent', o.agent_id, 'comment', true, null, null, null)::dispatch._target
        from (
            select r.agent_id, min(r.id::text) as first_run
            from unnest(v_runs) as i (id)
            cross join lateral (
                select s.id, s.agent_id
                from dispatch.run as s
                where s.workspace_id = p_workspace_id and s.id = i.id
                limit 1
            ) as r
            group by r.agent_id
        ) as o
        order by o.first_run
    );
end;
$fn$;

comment on function dispatch._thread_owners(uuid, uuid) is
$doc$Give whom the thread of a comment belongs to: the first agent or squad that its root names,
else the agents that its root has woken.

Errors: none.$doc$;
-- end sql/30_functions/comments/_thread_owners.sql

-- begin sql/30_functions/comments/_wake_kept.sql
-- What is kept has passed the gates before, so it passes them unasked: an edit must not lose
-- other people's wakes to a pause. The records are copied as a follow-up copies them, so that
-- they are counted where they were decided and nowhere else.
create or replace function dispatch._wake_kept(
    p_workspace_id uuid,
    p_agent_id uuid,
    p_run_ids uuid[],
    p_comment_ids uuid[]
)
returns dispatch.comment_answer[]
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_runs uuid[];
    v_kept dispatch.run_trigger[];
    v_wake dispatch.wake;
    v_decision dispatch.decision;
begin
    v_runs := array(
        select r.id
        from unnest(p_run_ids) as i (id)
        cross join lateral (
            select s.id, s.agent_id
            from dispatch.run as s
            where s.workspace_id = p_workspace_id and s.id = i.id
            limit 1
        ) as r
        where r.agent_id = p_agent_id
    );
    v_kept := array(
        select k
        from dispatch._kept_wakes(p_workspace_id, v_runs, p_comment_ids) as k
        order by k.at, k.seq
    );
    if cardinality(v_kept) = 0 then
        return '{}'::dispatch.comment_answer[];
    end if;
    v_wake := dispatch._kept_wake(p_workspace_id, v_kept);
    select d.outcome, d.reason_code, d.run_id, d.agent_id, d.source, d.detail
    into v_decision
    from dispatch._admit_wakes(p_workspace_id, array[v_wake]) as d;
    if v_decision.outcome = 'absorbed' then
        perform dispatch._record_first_wake(p_workspace_id, v_decision.run_id);
    end if;
    perform dispatch._copy_wakes(p_workspace_id, v_decision.run_id, v_kept);
    return array(
        select row(
            k.comment_id, 'agent', p_agent_id, v_decision.outcome, v_decision.reason_code,
            v_decision.run_id, p_agent_id
        )::dispatch.comment_answer
        from unnest(v_kept) as k
        where k.comment_id is not null
        group by k.comment_id
        order by min(k.at), k.comment_id
    );
end;
$fn$;

comment on function dispatch._wake_kept(uuid, uuid, uuid[], uuid[]) is
$doc$Queue one run of an agent for what its cancelled runs stood for beside p_comment_ids, or
append that to the run that holds the slot.

Errors: as _admit_wakes.$doc$;
-- end sql/30_functions/comments/_wake_kept.sql

-- begin sql/30_functions/comments/_wake_targets.sql
-- The tail of every comment. All its wakes go to admission in one call, so that the locks are
-- taken in order; targets that come to one agent share one wake.
create or replace function dispatch._wake_targets(
    p_workspace_id uuid,
    p_issue dispatch.issue,
    p_comment dispatch.comment,
    p_targets dispatch._target[],
    p_actor_type text,
    p_actor_id uuid,
    p_acting_run_id uuid,
    p_is_new boolean
)
returns dispatch.comment_answer[]
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_wakes dispatch.wake[] := '{}'::dispatch.wake[];
    v_agents uuid[] := '{}'::uuid[];
    v_decisions dispatch.decision[] := '{}'::dispatch.decision[];
    v_squad uuid;
    v_target dispatch._target;
begin
    foreach v_target in array p_targets loop
        continue when v_target.code is not null or v_target.agent_id = any(v_agents);
        v_squad := (
            select t.target_id
            from unnest(p_targets) with ordinality as t
            where t.agent_id = v_target.agent_id
                and t.target_type = 'squad'
                and t.code is null
            order by t.ordinality
            limit 1
        );
        v_agents := v_agents || v_target.agent_id;
        v_wakes := v_wakes || dispatch._comment_wake(
            p_workspace_id, p_issue, p_comment, v_target, v_squad, p_actor_type, p_actor_id,
            p_acting_run_id, p_is_new
        );
    end loop;
    if cardinality(v_wakes) > 0 then
        v_decisions := array(
            select d from dispatch._admit_wakes(p_workspace_id, v_wakes) as d
        );
    end if;
    perform dispatch._record_refusals(
        p_workspace_id, p_issue.id, p_targets, p_actor_type, p_actor_id
    );
    return array(
        select row(
            p_comment.id, t.target_type, t.target_id,
            coalesce(
                d.outcome::text,
                case t.code when 'already_active' then 'absorbed' else 'blocked' end
            ),
            coalesce(t.code, d.reason_code), coalesce(t.run_id, d.run_id),
            case when t.code is not null then t.agent_id else d.agent_id end
        )::dispatch.comment_answer
        from unnest(p_targets) with ordinality as t
        left join unnest(v_agents) with ordinality as a (id, place)
            on a.id = t.agent_id and t.code is null
        left join unnest(v_decisions) with ordinality as d on d.ordinality = a.place
        order by t.ordinality
    );
end;
$fn$;

comment on function dispatch._wake_targets(
    uuid, dispatch.issue, dispatch.comment, dispatch._target[], text, uuid, uuid, boolean
) is
$doc$Take the wakes of a comment through admission: one answer a target, in their order.

An agent that is asked for itself and as a squad's leader runs once, as the leader. p_is_new:
the wakes have keys.
Errors: as _admit_wakes.$doc$;
-- end sql/30_functions/comments/_wake_targets.sql

-- begin sql/30_functions/comments/_withdraw_comments.sql
-- Locks: agents FOR UPDATE by id, both those that the comments have woken and p_agent_ids, whom
-- the caller wakes next; then by id the runs that stand for the comments and those that hold
-- the agents' slots on the issue. So nothing that comes after has to wait out of order, and no
-- retry, follow-up or rerun carries a comment on behind the look for it. Nothing is locked when
-- the comments have woken nobody.
create or replace function dispatch._withdraw_comments(
    p_workspace_id uuid,
    p_issue_id uuid,
    p_comment_ids uuid[],
    p_agent_ids uuid[],
    p_reason text
)
returns dispatch.comment_answer[]
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $fn$
declare
    v_runs uuid[];
    v_agents uuid[];
    v_agent uuid;
    v_now timestamptz;
    v_answers dispatch.comment_answer[] := '{}'::dispatch.comment_answer[];
begin
    v_agents := dispatch._run_agents(
        p_workspace_id, dispatch._comment_runs(p_workspace_id, p_comment_ids)
    );
    if cardinality(v_agents) = 0 then
        return v_answers;
    end if;
    v_agents := v_agents || p_agent_ids;
    perform dispatch._lock_claim_agents(p_workspace_id, v_agents, true);
    v_runs := dispatch._planned_runs(p_workspace_id, p_comment_ids);
    perform dispatch._lock_plans(p_workspace_id, p_issue_id, v_agents, v_runs);
    -- Again, since a run that was waited for may have ended.
    v_runs := dispatch._planned_runs(p_workspace_id, p_comment_ids);
    v_now := dispatch.clock();
    perform dispatch._cancel_runs(p_workspace_id, v_runs, p_reason, v_now);
    foreach v_agent in array dispatch._run_agents(p_workspace_id, v_runs) loop
        v_answers := v_answers || dispatch._wake_kept(
            p_workspace_id, v_agent, v_runs, p_comment_ids
        );
    end loop;
    return v_answers;
end;
$fn$;

comment on function dispatch._withdraw_comments(uuid, uuid, uuid[], uuid[], text) is
$doc$Cancel every run that stands for one of these comments, and queue again what else those
runs stood for: one answer for each other comment and agent.

p_reason is kept as the runs' error. Rule: dispatch 3.5.
Errors: as _admit_wakes.$doc$;
-- end sql/30_functions/comments/_withdraw_comments.sql

-- begin sql/30_functions/comments/add_comment.sql
-- Locks: the issue and the parent FOR KEY SHARE, then what admission locks (agents, runs).
create or replace function dispatch.add_comment(
    p_workspace_id uuid,
    p_issue_id uuid,
    p_body text,
    p_actor_type text,
    p_actor_id uuid default null,
    p_acting_run_id uuid default null,
    p_mentions jsonb default '[]',
    p_parent_id uuid default null
)
returns setof dispatch.comment_answer
language plpgsql
volatile
parallel unsafe
rows 2
security definer
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_originator uuid;
    v_issue dispatch.issue;
    v_comment dispatch.comment;
begin
    perform dispatch._check_ids(
        array['p_workspace_id', 'p_issue_id'], array[p_workspace_id, p_issue_id]
    );
    perform dispatch._check_comment(p_body, coalesce(p_mentions, '[]'));
    perform dispatch._check_optional_ids(array['p_parent_id'], array[p_parent_id]);
    perform dispatch._require_workspace(p_workspace_id);
    v_originator := dispatch._resolve_actor(
        p_workspace_id, p_actor_type, p_actor_id, p_acting_run_id
    );
    v_issue := dispatch._hold_issue(p_workspace_id, p_issue_id);
    if v_issue.id is null then
        perform dispatch._raise(
            'PD404', 'issue not found', 'p_issue_id', 'name an issue of the workspace.'
        );
    end if;
    v_comment.id := dispatch._uuid_v7(dispatch._uuid_tick());
    v_comment.issue_id := p_issue_id;
    v_comment.author_type := p_actor_type;
    v_comment.author_id := p_actor_id;
    v_comment.body := p_body;
    v_comment.mentions := coalesce(p_mentions, '[]');
    v_comment.parent_id := p_parent_id;
    v_comment.source_run_id := p_acting_run_id;
    perform dispatch._insert_comment(p_workspace_id, v_comment);
    return query
    select
        w.comment_id, w.target_type, w.target_id, w.outcome, w.reason_code, w.run_id, w.agent_id
    from dispatch._comment_answers(v_comment.id, dispatch._wake_targets(
        p_workspace_id, v_issue, v_comment,
        dispatch._judge_targets(
            p_workspace_id, v_issue, v_comment, p_actor_type, v_originator
        ),
        p_actor_type, p_actor_id, p_acting_run_id, true
    )) as w;
end;
$fn$;

comment on function dispatch.add_comment(
    uuid, uuid, text, text, uuid, uuid, jsonb, uuid
) is
$doc$Write a comment on an issue and wake whom it asks for work: one row a target.

p_body: at most 1 MiB. p_mentions: at most 1000 objects of type (agent, squad, member, all) and
id; p_parent_id makes it a reply. The first rule that fits decides, in any status of the issue:
a body that begins with the word /note wakes nobody; the agents and squads that are mentioned;
nobody for a mention of all or of members only; for an agent's or the system's comment the squad
that has the issue; for a reply to an agent that agent; for a reply to a member the first that
the thread's root mentions, else the agents that the root has woken; the assignee. A squad is
its leader's work, who must be online, and who does not wake itself (self_trigger_suppressed).
A run of the pair that is queued takes the wake whatever its age (coalesced), one that is
dispatched owes it (absorbed). Whoever may not be invoked, foreign and unknown ids included, is
blocked (invocation_not_allowed); an id that is no uuid is target_unavailable. Nobody woken is
one row without a target, none/not_triggered. The comment stands whatever becomes of its wakes.
Rule: dispatch 3.3 and 3.4; issue-to-run 5, 6 and 9.
Errors: PD400 missing, malformed or too long argument, COLUMN p_mentions[N].KEY for a mention;
PD403 wrong actor; PD404 workspace, issue or parent not found; PD409 pending slot
contended.$doc$;
-- end sql/30_functions/comments/add_comment.sql

-- begin sql/30_functions/comments/delete_comment.sql
-- Locks: the issue, the comment and its replies, then agents and runs as _withdraw_comments has
-- it. The runs end before the comments go.
create or replace function dispatch.delete_comment(
    p_workspace_id uuid,
    p_comment_id uuid,
    p_actor_type text,
    p_actor_id uuid default null,
    p_acting_run_id uuid default null
)
returns setof dispatch.comment_answer
language plpgsql
volatile
parallel unsafe
rows 2
security definer
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_comment dispatch.comment;
    v_thread uuid[];
    v_answers dispatch.comment_answer[];
begin
    perform dispatch._check_ids(
        array['p_workspace_id', 'p_comment_id'], array[p_workspace_id, p_comment_id]
    );
    perform dispatch._require_workspace(p_workspace_id);
    perform dispatch._resolve_actor(p_workspace_id, p_actor_type, p_actor_id, p_acting_run_id);
    v_comment := dispatch._lock_comment(p_workspace_id, p_comment_id, true);
    v_thread := dispatch._lock_replies(p_workspace_id, p_comment_id);
    v_answers := dispatch._withdraw_comments(
        p_workspace_id, v_comment.issue_id, v_thread, '{}', 'comment deleted'
    );
    delete from dispatch.comment as c
    where c.workspace_id = p_workspace_id and c.id = any(v_thread);
    return query
    select
        w.comment_id, w.target_type, w.target_id, w.outcome, w.reason_code, w.run_id, w.agent_id
    from dispatch._comment_answers(p_comment_id, v_answers) as w;
end;
$fn$;

comment on function dispatch.delete_comment(uuid, uuid, text, uuid, uuid) is
$doc$Delete a comment with its replies, and take back what they have started.

Every run that has not ended and stands for one of them is cancelled (error "comment deleted"),
running ones too. What else it stood for is queued again without asking the gates: one row for
each other comment and agent, or one without a target, none/not_triggered. A rerun of a run that
has ended asks for all of its work all the same. Call it at READ COMMITTED, as edit_comment.
Rule: dispatch 3.5.
Errors: PD400 missing or all-zero argument; PD403 wrong actor; PD404 workspace or comment not
found; PD409 pending slot contended.$doc$;
-- end sql/30_functions/comments/delete_comment.sql

-- begin sql/30_functions/comments/edit_comment.sql
-- Locks: the issue, the comment, then agents and runs as _withdraw_comments has it. Whom the
-- comment asks for work depends on its author, who may be woken on who edits it: a text that
-- somebody else has changed carries nobody's authority but theirs.
create or replace function dispatch.edit_comment(
    p_workspace_id uuid,
    p_comment_id uuid,
    p_body text,
    p_actor_type text,
    p_actor_id uuid default null,
    p_acting_run_id uuid default null,
    p_mentions jsonb default '[]'
)
returns setof dispatch.comment_answer
language plpgsql
volatile
parallel unsafe
rows 2
security definer
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_originator uuid;
    v_issue dispatch.issue;
    v_comment dispatch.comment;
    v_targets dispatch._target[];
    v_answers dispatch.comment_answer[] := '{}'::dispatch.comment_answer[];
begin
    perform dispatch._check_ids(
        array['p_workspace_id', 'p_comment_id'], array[p_workspace_id, p_comment_id]
    );
    perform dispatch._check_comment(p_body, coalesce(p_mentions, '[]'));
    perform dispatch._require_workspace(p_workspace_id);
    v_originator := dispatch._resolve_actor(
        p_workspace_id, p_actor_type, p_actor_id, p_acting_run_id
    );
    v_comment := dispatch._lock_comment(p_workspace_id, p_comment_id, false);
    if v_comment.body <> p_body or v_comment.mentions <> coalesce(p_mentions, '[]') then
        v_comment := dispatch._store_edit(
            p_workspace_id, v_comment, p_body, coalesce(p_mentions, '[]'), p_actor_type,
            p_actor_id, p_acting_run_id
        );
        v_issue := dispatch._hold_issue(p_workspace_id, v_comment.issue_id);
        v_targets := dispatch._judge_targets(
            p_workspace_id, v_issue, v_comment, p_actor_type, v_originator
        );
        v_answers := dispatch._withdraw_comments(
            p_workspace_id, v_issue.id, array[p_comment_id],
            array(select t.agent_id from unnest(v_targets) as t where t.code is null),
            'comment edited'
        );
        v_answers := v_answers || dispatch._wake_targets(
            p_workspace_id, v_issue, v_comment, v_targets, p_actor_type, p_actor_id,
            p_acting_run_id, false
        );
    end if;
    return query
    select
        w.comment_id, w.target_type, w.target_id, w.outcome, w.reason_code, w.run_id, w.agent_id
    from dispatch._comment_answers(p_comment_id, v_answers) as w;
end;
$fn$;

comment on function dispatch.edit_comment(
    uuid, uuid, text, text, uuid, uuid, jsonb
) is
$doc$Change a comment, take back what it has started, and wake whom it asks for work now.

p_body and p_mentions are those of add_comment and replace what is stored; where both are equal
already nothing happens. Every run that has not ended and stands for the comment is cancelled
(error "comment edited"), running ones too; what else it stood for is queued again, one row a
comment, without asking the gates. Then the comment is routed as add_comment routes its author's
words, on the authority of whoever edits it. An agent that edits its own comment renews the run
it came from, anybody else clears it. Call it at READ COMMITTED: a stricter transaction does not
see what a run that it cancels was asked meanwhile. Rule: dispatch 3.5.
Errors: PD400 missing, malformed or too long argument, COLUMN p_mentions[N].KEY for a mention;
PD403 wrong actor; PD404 workspace or comment not found; PD409 pending slot contended.$doc$;
-- end sql/30_functions/comments/edit_comment.sql

-- begin sql/30_functions/directory/_change_agent.sql
create or replace function dispatch._change_agent(
    p_workspace_id uuid,
    p_agent_id uuid,
    p_name text,
    p_owner_id uuid,
    p_runtime_id uuid,
    p_permission text,
    p_max_concurrent_runs integer
)
returns void
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_old_runtime constant uuid := dispatch._lock_live_agent(p_workspace_id, p_agent_id);
    v_runtime constant uuid := coalesce(p_runtime_id, v_old_runtime);
    v_old_capacity integer;
begin
    select a.max_concurrent_runs
    into v_old_capacity
    from dispatch.agent as a
    where a.workspace_id = p_workspace_id and a.id = p_agent_id;
    update dispatch.agent as a
    set
        name = p_name,
        owner_id = p_owner_id,
        runtime_id = v_runtime,
        permission = coalesce(p_permission, a.permission),
        max_concurrent_runs = coalesce(p_max_concurrent_runs, a.max_concurrent_runs)
    where a.workspace_id = p_workspace_id
        and a.id = p_agent_id
        and (a.name, a.owner_id, a.runtime_id, a.permission, a.max_concurrent_runs)
        is distinct from (
            p_name, p_owner_id, v_runtime, coalesce(p_permission, a.permission),
            coalesce(p_max_concurrent_runs, a.max_concurrent_runs)
        );
    if v_runtime is distinct from v_old_runtime then
        perform dispatch._move_waiting_runs(p_workspace_id, p_agent_id, v_runtime);
    end if;
    if v_runtime is distinct from v_old_runtime or p_max_concurrent_runs > v_old_capacity then
        perform dispatch._notify_runtimes(array[v_runtime]);
    end if;
end;
$fn$;

comment on function dispatch._change_agent(uuid, uuid, text, uuid, uuid, text, integer) is
$doc$Change an agent that is there; the arguments are those of put_agent, already checked.

Errors: PD404 agent not found, PD409 agent is archived.$doc$;
-- end sql/30_functions/directory/_change_agent.sql

-- begin sql/30_functions/directory/_delete_rows.sql
-- Every table before those that it refers to. The cascades would reach some of these rows as
-- well, but one row at a time.
create or replace function dispatch._delete_rows(p_workspace_id uuid)
returns void
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    delete from dispatch.gate_event as e where e.workspace_id = p_workspace_id;
    delete from dispatch.gate_total as t where t.workspace_id = p_workspace_id;
    delete from dispatch.deferred_assignment as d where d.workspace_id = p_workspace_id;
    delete from dispatch.run_trigger as t where t.workspace_id = p_workspace_id;
    delete from dispatch.run_detail as d where d.workspace_id = p_workspace_id;
    delete from dispatch.run as r where r.workspace_id = p_workspace_id;
    delete from dispatch.comment as c where c.workspace_id = p_workspace_id;
    delete from dispatch.issue as i where i.workspace_id = p_workspace_id;
    delete from dispatch.squad as s where s.workspace_id = p_workspace_id;
    delete from dispatch.agent_grant as g where g.workspace_id = p_workspace_id;
    delete from dispatch.agent as a where a.workspace_id = p_workspace_id;
    delete from dispatch.runtime as r where r.workspace_id = p_workspace_id;
    delete from dispatch.team_member as t where t.workspace_id = p_workspace_id;
    delete from dispatch.team as t where t.workspace_id = p_workspace_id;
    delete from dispatch.member as m where m.workspace_id = p_workspace_id;
    delete from dispatch.workspace_pause as p where p.workspace_id = p_workspace_id;
    delete from dispatch.workspace as w where w.id = p_workspace_id;
end;
$fn$;

comment on function dispatch._delete_rows(uuid) is
$doc$Delete every row of a workspace, and the workspace. The caller holds its locks.

Errors: none.$doc$;
-- end sql/30_functions/directory/_delete_rows.sql

-- begin sql/30_functions/directory/_derive_prefix.sql
-- Collation C keeps the case rules of a locale out: only plain letters are raised and kept.
create or replace function dispatch._derive_prefix(p_name text)
returns text
language sql
immutable
parallel safe
as $fn$
select coalesce(
    rpad(
        nullif(
            left(
                ltrim(
                    regexp_replace(upper(p_name collate "C"), '[^A-Z0-9]', '', 'g'),
                    '0123456789'
                ),
                3
            ),
            ''
        ),
        3, 'X'
    ),
    'WS'
);
$fn$;

comment on function dispatch._derive_prefix(text) is
$doc$Derive an issue prefix from a workspace's name: its first three letters or digits from the
first letter on, filled up with X; WS for a name without plain letters.

Errors: none.$doc$;
-- end sql/30_functions/directory/_derive_prefix.sql

-- begin sql/30_functions/directory/_grant_target.sql
create or replace function dispatch._grant_target(
    p_workspace_id uuid,
    p_agent_id uuid,
    p_target_type text,
    p_target_id uuid
)
returns uuid
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    perform dispatch._check_ids(array['p_agent_id'], array[p_agent_id]);
    perform dispatch._check_word(
        'p_target_type', p_target_type, array['workspace', 'member', 'team']
    );
    if p_target_type = 'workspace' and p_target_id is null then
        return p_workspace_id;
    end if;
    perform dispatch._check_ids(array['p_target_id'], array[p_target_id]);
    return p_target_id;
end;
$fn$;

comment on function dispatch._grant_target(uuid, uuid, text, uuid) is
$doc$Check the arguments that name a grant, and give its target's id: the workspace's own by
default.

Errors: PD400 missing, unknown or all-zero argument.$doc$;
-- end sql/30_functions/directory/_grant_target.sql

-- begin sql/30_functions/directory/_hold_member.sql
-- Locks: the member FOR KEY SHARE. Whoever needs members and agents locks the members first.
create or replace function dispatch._hold_member(p_workspace_id uuid, p_user_id uuid)
returns boolean
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    perform
    from dispatch.member as m
    where m.workspace_id = p_workspace_id and m.user_id = p_user_id
    for key share;
    return found;
end;
$fn$;

comment on function dispatch._hold_member(uuid, uuid) is
$doc$Tell whether somebody is a member, and keep them one until the transaction ends.

Errors: none.$doc$;
-- end sql/30_functions/directory/_hold_member.sql

-- begin sql/30_functions/directory/_hold_runtime.sql
-- Locks: the runtime FOR KEY SHARE, for which no heartbeat waits.
create or replace function dispatch._hold_runtime(p_workspace_id uuid, p_runtime_id uuid)
returns void
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    perform
    from dispatch.runtime as r
    where r.workspace_id = p_workspace_id and r.id = p_runtime_id
    for key share;
    if not found then
        perform dispatch._raise(
            'PD404', 'runtime not found', 'p_runtime_id', 'name a runtime of the workspace.'
        );
    end if;
end;
$fn$;

comment on function dispatch._hold_runtime(uuid, uuid) is
$doc$Refuse an unknown runtime, and keep a known one until the transaction ends.

Errors: PD404 runtime not found.$doc$;
-- end sql/30_functions/directory/_hold_runtime.sql

-- begin sql/30_functions/directory/_hold_workspace.sql
-- Locks: the workspace FOR KEY SHARE, as the foreign key of any new row would. A teardown,
-- which locks it FOR UPDATE, is thus waited for here and ends in the error of an unknown
-- workspace.
create or replace function dispatch._hold_workspace(p_workspace_id uuid)
returns void
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    perform dispatch._check_ids(array['p_workspace_id'], array[p_workspace_id]);
    perform from dispatch.workspace as w where w.id = p_workspace_id for key share;
    if not found then
        perform dispatch._raise(
            'PD404', 'workspace not found', 'p_workspace_id',
            'make it with put_workspace first.'
        );
    end if;
end;
$fn$;

comment on function dispatch._hold_workspace(uuid) is
$doc$Refuse an unknown workspace, and keep a known one from being deleted until the transaction
ends.

Errors: PD400 argument missing or all-zero id, PD404 workspace not found.$doc$;
-- end sql/30_functions/directory/_hold_workspace.sql

-- begin sql/30_functions/directory/_live_runs.sql
-- One arm a partial index: a single list of statuses would match none of them and scan the
-- table.
create or replace function dispatch._live_runs(p_workspace_id uuid, p_agent_id uuid)
returns uuid[]
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    return array(
        select r.id
        from dispatch.run as r
        where r.workspace_id = p_workspace_id
            and r.agent_id = p_agent_id
            and r.status in ('queued', 'dispatched')
        union all
        select r.id
        from dispatch.run as r
        where r.workspace_id = p_workspace_id
            and r.agent_id = p_agent_id
            and r.status in ('waiting_local_directory', 'running')
        union all
        select r.id
        from dispatch.run as r
        where r.workspace_id = p_workspace_id
            and r.agent_id = p_agent_id
            and r.status = 'deferred'
    );
end;
$fn$;

comment on function dispatch._live_runs(uuid, uuid) is
$doc$Give the ids of an agent's runs that have not ended.

Errors: none.$doc$;
-- end sql/30_functions/directory/_live_runs.sql

-- begin sql/30_functions/directory/_lock_live_agent.sql
-- Locks: the agent FOR UPDATE, so that neither an enqueue nor a claim sees it half changed.
create or replace function dispatch._lock_live_agent(p_workspace_id uuid, p_agent_id uuid)
returns uuid
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_runtime uuid;
    v_archived_at timestamptz;
begin
    select a.runtime_id, a.archived_at
    into v_runtime, v_archived_at
    from dispatch.agent as a
    where a.workspace_id = p_workspace_id and a.id = p_agent_id
    for update;
    if not found then
        perform dispatch._raise(
            'PD404', 'agent not found', 'p_agent_id', 'name an agent of the workspace.'
        );
    elsif v_archived_at is not null then
        perform dispatch._raise(
            'PD409', 'agent is archived', 'p_agent_id', 'an archived agent stays as it was.'
        );
    end if;
    return v_runtime;
end;
$fn$;

comment on function dispatch._lock_live_agent(uuid, uuid) is
$doc$Lock an agent for a change, and give the runtime it is bound to.

Errors: PD404 agent not found, PD409 agent is archived.$doc$;
-- end sql/30_functions/directory/_lock_live_agent.sql

-- begin sql/30_functions/directory/_move_waiting_runs.sql
-- Locks: the runs by id. The caller holds the agent FOR UPDATE, so no run is added meanwhile.
create or replace function dispatch._move_waiting_runs(
    p_workspace_id uuid,
    p_agent_id uuid,
    p_runtime_id uuid
)
returns void
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_runs constant uuid[] := dispatch._live_runs(p_workspace_id, p_agent_id);
begin
    perform
    from dispatch.run as r
    where r.workspace_id = p_workspace_id and r.id = any(v_runs)
    order by r.id
    for no key update;
    update dispatch.run as r
    set runtime_id = p_runtime_id
    where r.workspace_id = p_workspace_id
        and r.id = any(v_runs)
        and r.status in ('queued', 'deferred')
        and r.runtime_id is distinct from p_runtime_id;
end;
$fn$;

comment on function dispatch._move_waiting_runs(uuid, uuid, uuid) is
$doc$Move an agent's queued and deferred runs to a runtime; those in a daemon's hands stay.

Errors: none.$doc$;
-- end sql/30_functions/directory/_move_waiting_runs.sql

-- begin sql/30_functions/directory/archive_agent.sql
-- Locks: the agent FOR UPDATE, then its runs by id. Its runs are looked for in a statement
-- after the lock, so that one whose enqueue was waited for is found.
create or replace function dispatch.archive_agent(p_workspace_id uuid, p_agent_id uuid)
returns integer
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_runs uuid[];
    v_now timestamptz;
begin
    perform dispatch._require_workspace(p_workspace_id);
    perform dispatch._check_ids(array['p_agent_id'], array[p_agent_id]);
    perform
    from dispatch.agent as a
    where a.workspace_id = p_workspace_id and a.id = p_agent_id
    for update;
    if not found then
        perform dispatch._raise(
            'PD404', 'agent not found', 'p_agent_id', 'name an agent of the workspace.'
        );
    end if;
    v_runs := dispatch._live_runs(p_workspace_id, p_agent_id);
    v_now := dispatch.clock();
    update dispatch.agent as a
    set archived_at = v_now
    where a.workspace_id = p_workspace_id and a.id = p_agent_id and a.archived_at is null;
    return dispatch._cancel_runs(p_workspace_id, v_runs, 'agent archived', v_now);
end;
$fn$;

comment on function dispatch.archive_agent(uuid, uuid) is
$doc$Retire an agent, cancel all its runs that have not ended, and return how many.

The runs keep the error "agent archived". Repeating a call keeps the first instant and returns
0. Rule: issue-to-run 4.
Errors: PD400 missing or all-zero argument, PD404 workspace or agent not found.$doc$;
-- end sql/30_functions/directory/archive_agent.sql

-- begin sql/30_functions/directory/archive_squad.sql
-- Locks: the squad.
create or replace function dispatch.archive_squad(p_workspace_id uuid, p_squad_id uuid)
returns void
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_now timestamptz;
begin
    perform dispatch._require_workspace(p_workspace_id);
    perform dispatch._check_ids(array['p_squad_id'], array[p_squad_id]);
    perform
    from dispatch.squad as s
    where s.workspace_id = p_workspace_id and s.id = p_squad_id
    for no key update;
    if not found then
        perform dispatch._raise(
            'PD404', 'squad not found', 'p_squad_id', 'name a squad of the workspace.'
        );
    end if;
    v_now := dispatch.clock();
    update dispatch.squad as s
    set archived_at = v_now
    where s.workspace_id = p_workspace_id and s.id = p_squad_id and s.archived_at is null;
end;
$fn$;

comment on function dispatch.archive_squad(uuid, uuid) is
$doc$Retire a squad: nothing can be assigned to it any more.

Its leader's runs stay. Repeating a call keeps the first instant.
Errors: PD400 missing or all-zero argument, PD404 workspace or squad not found.$doc$;
-- end sql/30_functions/directory/archive_squad.sql

-- begin sql/30_functions/directory/bind_agent.sql
-- Locks: the runtime FOR KEY SHARE, the agent FOR UPDATE, then its waiting runs by id.
create or replace function dispatch.bind_agent(
    p_workspace_id uuid,
    p_agent_id uuid,
    p_runtime_id uuid
)
returns void
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_old_runtime uuid;
begin
    perform dispatch._hold_workspace(p_workspace_id);
    perform dispatch._check_ids(array['p_agent_id'], array[p_agent_id]);
    perform dispatch._check_optional_ids(array['p_runtime_id'], array[p_runtime_id]);
    if p_runtime_id is not null then
        perform dispatch._hold_runtime(p_workspace_id, p_runtime_id);
    end if;
    v_old_runtime := dispatch._lock_live_agent(p_workspace_id, p_agent_id);
    if p_runtime_id is not distinct from v_old_runtime then
        return;
    end if;
    update dispatch.agent as a
    set runtime_id = p_runtime_id
    where a.workspace_id = p_workspace_id and a.id = p_agent_id;
    if p_runtime_id is not null then
        perform dispatch._move_waiting_runs(p_workspace_id, p_agent_id, p_runtime_id);
        perform dispatch._notify_runtimes(array[p_runtime_id]);
    end if;
end;
$fn$;

comment on function dispatch.bind_agent(uuid, uuid, uuid) is
$doc$Move an agent, with its queued and deferred runs, to a runtime.

p_runtime_id NULL unbinds it; those runs then keep the runtime that they had. Runs in a daemon's
hands stay there. Repeating a call changes nothing.
Errors: PD400 missing or all-zero argument; PD404 workspace, agent or runtime not found; PD409
agent is archived.$doc$;
-- end sql/30_functions/directory/bind_agent.sql

-- begin sql/30_functions/directory/delete_workspace.sql
-- Locks: workspace, issues, agents and unfinished runs FOR UPDATE, each by id. The workspace
-- lock stops every write to the directory and every new issue, the agent locks every enqueue;
-- issues come before agents because a write to an issue holds it while it waits for its agent.
create or replace function dispatch.delete_workspace(
    p_workspace_id uuid,
    p_actor_type text,
    p_actor_id uuid default null,
    p_acting_run_id uuid default null
)
returns integer
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_cancelled integer;
begin
    perform dispatch._require_workspace(p_workspace_id);
    perform dispatch._resolve_actor(p_workspace_id, p_actor_type, p_actor_id, p_acting_run_id);
    perform from dispatch.workspace as w where w.id = p_workspace_id for update;
    if not found then
        perform dispatch._require_workspace(p_workspace_id);
    end if;
    if p_actor_type <> 'system' and not exists (
        select from dispatch.member as m
        where m.workspace_id = p_workspace_id
            and p_actor_type = 'user'
            and m.user_id = p_actor_id
            and m.role in ('owner', 'admin')
    ) then
        perform dispatch._raise(
            'PD403', 'actor may not delete the workspace', 'p_actor_id',
            'act as an owner or admin of the workspace, or as the system.'
        );
    end if;

    perform
    from dispatch.issue as i
    where i.workspace_id = p_workspace_id
    order by i.id
    for update;
    perform
    from dispatch.agent as a
    where a.workspace_id = p_workspace_id
    order by a.id
    for update;
    perform
    from dispatch.run as r
    where r.workspace_id = p_workspace_id
        and r.status not in ('completed', 'failed', 'cancelled')
    order by r.id
    for update;
    get diagnostics v_cancelled = row_count;
    perform dispatch._delete_rows(p_workspace_id);
    return v_cancelled;
end;
$fn$;

comment on function dispatch.delete_workspace(uuid, text, uuid, uuid) is
$doc$Delete a workspace and all that is in it, and return how many unfinished runs that ended.

An owner or admin of the workspace may, and the system. Waits for calls that are writing to the
workspace. A daemon that reports one of its runs afterwards is told not_found.
Errors: PD400 missing, unknown or all-zero argument; PD403 the actor may not, is no member or no
agent of the workspace, or (DETAIL attribution_blocked) its acting run is not active; PD404
workspace not found.$doc$;
-- end sql/30_functions/directory/delete_workspace.sql

-- begin sql/30_functions/directory/grant_invoke.sql
create or replace function dispatch.grant_invoke(
    p_workspace_id uuid,
    p_agent_id uuid,
    p_target_type text,
    p_target_id uuid default null
)
returns void
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_target uuid;
    v_known boolean;
    v_now timestamptz;
begin
    perform dispatch._hold_workspace(p_workspace_id);
    v_target := dispatch._grant_target(p_workspace_id, p_agent_id, p_target_type, p_target_id);
    v_known := case p_target_type
        when 'workspace' then v_target = p_workspace_id
        when 'member' then dispatch._hold_member(p_workspace_id, v_target)
        else exists (
            select from dispatch.team as t
            where t.workspace_id = p_workspace_id and t.id = v_target
        )
    end;
    perform
    from dispatch.agent as a
    where a.workspace_id = p_workspace_id and a.id = p_agent_id
    for key share;
    if not found then
        perform dispatch._raise(
            'PD404', 'agent not found', 'p_agent_id', 'name an agent of the workspace.'
        );
    elsif not v_known then
        perform dispatch._raise(
            'PD404', 'grant target not found', 'p_target_id',
            'name this workspace, or a member or team of it.'
        );
    end if;
    v_now := dispatch.clock();
    insert into dispatch.agent_grant (
        workspace_id, agent_id, target_type, target_id, created_at
    )
    values (p_workspace_id, p_agent_id, p_target_type, v_target, v_now)
    on conflict (workspace_id, agent_id, target_type, target_id) do nothing;
end;
$fn$;

comment on function dispatch.grant_invoke(uuid, uuid, text, uuid) is
$doc$Let the workspace, a member or a team invoke an agent.

p_target_type is workspace, member or team; p_target_id may be NULL for a workspace only, where
it is the workspace itself. A grant counts while the agent's permission is public_to. Repeating
a call changes nothing. Rule: issue-to-run 6.
Errors: PD400 missing, unknown or all-zero argument; PD404 workspace, agent or target not
found.$doc$;
-- end sql/30_functions/directory/grant_invoke.sql

-- begin sql/30_functions/directory/heartbeat.sql
-- Locks: the runtimes by id, before the clock is read, so that an older instant never
-- overwrites a newer one. Sends no notice: it is the hottest write, and whoever it serves is
-- awake.
create or replace function dispatch.heartbeat(p_workspace_id uuid, p_runtime_ids uuid[])
returns integer
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_now timestamptz;
    v_touched integer;
begin
    perform dispatch._require_workspace(p_workspace_id);
    if p_runtime_ids is null then
        perform dispatch._raise(
            'PD400', 'argument missing', 'p_runtime_ids', 'give an array of runtime ids.'
        );
    end if;
    perform
    from dispatch.runtime as r
    where r.workspace_id = p_workspace_id and r.id = any(p_runtime_ids)
    order by r.id
    for no key update;
    v_now := dispatch.clock();
    update dispatch.runtime as r
    set
        status = 'online',
        last_seen_at = v_now,
        offline_reason = null,
        updated_at = v_now
    where r.workspace_id = p_workspace_id and r.id = any(p_runtime_ids);
    get diagnostics v_touched = row_count;
    return v_touched;
end;
$fn$;

comment on function dispatch.heartbeat(uuid, uuid[]) is
$doc$Mark runtimes as alive, and return how many are known.

They are online from this instant on; a reason for which one was offline is forgotten. Unknown,
all-zero and NULL ids are ignored. Rule: issue-to-run 4.
Errors: PD400 argument missing, PD404 workspace not found.$doc$;
-- end sql/30_functions/directory/heartbeat.sql

-- begin sql/30_functions/directory/put_agent.sql
-- Locks: workspace, owner and runtime FOR KEY SHARE, the agent FOR UPDATE, then its waiting
-- runs. The insert comes first, since the row of a concurrent first call can only be seen by
-- waiting.
create or replace function dispatch.put_agent(
    p_workspace_id uuid,
    p_agent_id uuid,
    p_name text,
    p_owner_id uuid,
    p_runtime_id uuid default null,
    p_permission text default null,
    p_max_concurrent_runs integer default null
)
returns void
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_now timestamptz;
begin
    perform dispatch._hold_workspace(p_workspace_id);
    perform dispatch._check_ids(
        array['p_agent_id', 'p_owner_id'], array[p_agent_id, p_owner_id]
    );
    perform dispatch._check_text('p_name', p_name, dispatch.name_limit());
    perform dispatch._check_optional_ids(array['p_runtime_id'], array[p_runtime_id]);
    if p_permission is not null then
        perform dispatch._check_word(
            'p_permission', p_permission, array['private', 'public_to']
        );
    end if;
    if p_max_concurrent_runs not between 1 and 50 then
        perform dispatch._raise(
            'PD400', 'capacity out of range', 'p_max_concurrent_runs', 'between 1 and 50.'
        );
    elsif not dispatch._hold_member(p_workspace_id, p_owner_id) then
        perform dispatch._raise(
            'PD400', 'owner is no member', 'p_owner_id', 'name a member of the workspace.'
        );
    end if;
    if p_runtime_id is not null then
        perform dispatch._hold_runtime(p_workspace_id, p_runtime_id);
    end if;

    v_now := dispatch.clock();
    insert into dispatch.agent (
        workspace_id, id, name, owner_id, runtime_id, permission, max_concurrent_runs, status,
        created_at
    )
    values (
        p_workspace_id, p_agent_id, p_name, p_owner_id, p_runtime_id,
        coalesce(p_permission, 'private'), coalesce(p_max_concurrent_runs, 6), 'active', v_now
    )
    on conflict (workspace_id, id) do nothing;
    if not found then
        perform dispatch._change_agent(
            p_workspace_id, p_agent_id, p_name, p_owner_id, p_runtime_id, p_permission,
            p_max_concurrent_runs
        );
    end if;
end;
$fn$;

comment on function dispatch.put_agent(uuid, uuid, text, uuid, uuid, text, integer) is
$doc$Store an agent, or change what is given.

p_owner_id must be a member. p_runtime_id NULL keeps the binding (bind_agent unbinds), another
runtime takes the agent's queued and deferred runs along. p_permission is private, the first
default, or public_to; p_max_concurrent_runs is between 1 and 50, first 6; NULL keeps either. A
first call makes it active. Repeating a call changes nothing. Rule: issue-to-run 4 and 6.
Errors: PD400 missing, unknown or all-zero argument, name too long, capacity out of range, owner
is no member; PD404 workspace or runtime not found; PD409 agent is archived.$doc$;
-- end sql/30_functions/directory/put_agent.sql

-- begin sql/30_functions/directory/put_member.sql
create or replace function dispatch.put_member(
    p_workspace_id uuid,
    p_user_id uuid,
    p_name text,
    p_role text default null
)
returns void
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_now timestamptz;
begin
    perform dispatch._hold_workspace(p_workspace_id);
    perform dispatch._check_ids(array['p_user_id'], array[p_user_id]);
    perform dispatch._check_text('p_name', p_name, dispatch.name_limit());
    if p_role is not null then
        perform dispatch._check_word('p_role', p_role, array['owner', 'admin', 'member']);
    end if;
    v_now := dispatch.clock();
    insert into dispatch.member as m (workspace_id, user_id, name, role, created_at)
    values (p_workspace_id, p_user_id, p_name, coalesce(p_role, 'member'), v_now)
    on conflict (workspace_id, user_id) do update
    set
        name = p_name,
        role = coalesce(p_role, m.role)
    where (m.name, m.role) is distinct from (p_name, coalesce(p_role, m.role));
end;
$fn$;

comment on function dispatch.put_member(uuid, uuid, text, text) is
$doc$Store a human of the workspace, or change what is given.

p_role is owner, admin or member, the first default; NULL keeps it. A role never grants the
right to invoke an agent. Repeating a call changes nothing.
Errors: PD400 missing or all-zero argument, name too long, unknown role; PD404 workspace not
found.$doc$;
-- end sql/30_functions/directory/put_member.sql

-- begin sql/30_functions/directory/put_runtime.sql
create or replace function dispatch.put_runtime(
    p_workspace_id uuid,
    p_runtime_id uuid,
    p_daemon_id text,
    p_name text default null
)
returns void
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_now timestamptz;
begin
    perform dispatch._hold_workspace(p_workspace_id);
    perform dispatch._check_ids(array['p_runtime_id'], array[p_runtime_id]);
    perform dispatch._check_text('p_daemon_id', p_daemon_id, dispatch.name_limit());
    if p_name is not null then
        perform dispatch._check_text('p_name', p_name, dispatch.name_limit());
    end if;
    perform
    from dispatch.runtime as r
    where r.workspace_id = p_workspace_id and r.id = p_runtime_id
    for no key update;
    v_now := dispatch.clock();
    insert into dispatch.runtime as r (
        workspace_id, id, daemon_id, name, status, created_at, updated_at
    )
    values (
        p_workspace_id, p_runtime_id, p_daemon_id, coalesce(p_name, p_daemon_id), 'offline',
        v_now, v_now
    )
    on conflict (workspace_id, id) do update
    set
        daemon_id = p_daemon_id,
        name = coalesce(p_name, r.name),
        updated_at = v_now
    where (r.daemon_id, r.name) is distinct from (p_daemon_id, coalesce(p_name, r.name));
end;
$fn$;

comment on function dispatch.put_runtime(uuid, uuid, text, text) is
$doc$Store a runtime of a daemon, or change what is given.

It is offline until its first heartbeat; a change leaves its status alone. p_name NULL keeps the
name, which is the daemon's at first. Repeating a call changes nothing.
Errors: PD400 missing or all-zero argument, text too long; PD404 workspace not found.$doc$;
-- end sql/30_functions/directory/put_runtime.sql

-- begin sql/30_functions/directory/put_squad.sql
-- Locks: the leader FOR KEY SHARE, so that it is not archived meanwhile, then the squad.
create or replace function dispatch.put_squad(
    p_workspace_id uuid,
    p_squad_id uuid,
    p_name text,
    p_leader_id uuid
)
returns void
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_archived_at timestamptz;
    v_now timestamptz;
begin
    perform dispatch._hold_workspace(p_workspace_id);
    perform dispatch._check_ids(
        array['p_squad_id', 'p_leader_id'], array[p_squad_id, p_leader_id]
    );
    perform dispatch._check_text('p_name', p_name, dispatch.name_limit());
    select a.archived_at
    into v_archived_at
    from dispatch.agent as a
    where a.workspace_id = p_workspace_id and a.id = p_leader_id
    for key share;
    if not found then
        perform dispatch._raise(
            'PD404', 'leader not found', 'p_leader_id', 'name an agent of the workspace.'
        );
    elsif v_archived_at is not null then
        perform dispatch._raise(
            'PD400', 'leader is archived', 'p_leader_id', 'name an agent that is in use.'
        );
    end if;
    select s.archived_at
    into v_archived_at
    from dispatch.squad as s
    where s.workspace_id = p_workspace_id and s.id = p_squad_id
    for no key update;
    if v_archived_at is not null then
        perform dispatch._raise(
            'PD409', 'squad is archived', 'p_squad_id', 'an archived squad stays as it was.'
        );
    end if;
    v_now := dispatch.clock();
    insert into dispatch.squad as s (workspace_id, id, name, leader_id, created_at)
    values (p_workspace_id, p_squad_id, p_name, p_leader_id, v_now)
    on conflict (workspace_id, id) do update
    set
        name = p_name,
        leader_id = p_leader_id
    where (s.name, s.leader_id) is distinct from (p_name, p_leader_id);
end;
$fn$;

comment on function dispatch.put_squad(uuid, uuid, text, uuid) is
$doc$Store a squad, or change its name and leader.

Whoever leads it when a wake comes does the work; runs that were admitted stay with the leader
of then. Repeating a call changes nothing. Rule: issue-to-run 6.
Errors: PD400 missing or all-zero argument, name too long, leader is archived; PD404 workspace
or leader not found; PD409 squad is archived.$doc$;
-- end sql/30_functions/directory/put_squad.sql

-- begin sql/30_functions/directory/put_team.sql
create or replace function dispatch.put_team(p_workspace_id uuid, p_team_id uuid, p_name text)
returns void
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_now timestamptz;
begin
    perform dispatch._hold_workspace(p_workspace_id);
    perform dispatch._check_ids(array['p_team_id'], array[p_team_id]);
    perform dispatch._check_text('p_name', p_name, dispatch.name_limit());
    v_now := dispatch.clock();
    insert into dispatch.team as t (workspace_id, id, name, created_at)
    values (p_workspace_id, p_team_id, p_name, v_now)
    on conflict (workspace_id, id) do update
    set name = p_name
    where t.name <> p_name;
end;
$fn$;

comment on function dispatch.put_team(uuid, uuid, text) is
$doc$Store a team of the workspace, or rename it.

Repeating a call changes nothing.
Errors: PD400 missing or all-zero argument, name too long; PD404 workspace not found.$doc$;
-- end sql/30_functions/directory/put_team.sql

-- begin sql/30_functions/directory/put_team_member.sql
create or replace function dispatch.put_team_member(
    p_workspace_id uuid,
    p_team_id uuid,
    p_user_id uuid
)
returns void
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $fn$
begin
    perform dispatch._hold_workspace(p_workspace_id);
    perform dispatch._check_ids(array['p_team_id', 'p_user_id'], array[p_team_id, p_user_id]);
    if not exists (
        select from dispatch.team as t
        where t.workspace_id = p_workspace_id and t.id = p_team_id
    ) then
        perform dispatch._raise(
            'PD404', 'team not found', 'p_team_id', 'name a team of the workspace.'
        );
    elsif not dispatch._hold_member(p_workspace_id, p_user_id) then
        perform dispatch._raise(
            'PD404', 'member not found', 'p_user_id', 'name a member of the workspace.'
        );
    end if;
    insert into dispatch.team_member (workspace_id, team_id, user_id)
    values (p_workspace_id, p_team_id, p_user_id)
    on conflict (workspace_id, team_id, user_id) do nothing;
end;
$fn$;

comment on function dispatch.put_team_member(uuid, uuid, uuid) is
$doc$Put a member of the workspace into a team.

Repeating a call changes nothing.
Errors: PD400 missing or all-zero argument; PD404 workspace, team or member not found.$doc$;
-- end sql/30_functions/directory/put_team_member.sql

-- begin sql/30_functions/directory/put_workspace.sql
create or replace function dispatch.put_workspace(
    p_workspace_id uuid,
    p_name text,
    p_issue_prefix text default null,
    p_attribution_policy text default null
)
returns void
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_now constant timestamptz := dispatch.clock();
begin
    perform dispatch._check_ids(array['p_workspace_id'], array[p_workspace_id]);
    perform dispatch._check_text('p_name', p_name, dispatch.name_limit());
    if p_issue_prefix !~ '^[A-Z][A-Z0-9]{1,9}$' then
        perform dispatch._raise(
            'PD400', 'issue prefix of a wrong shape', 'p_issue_prefix',
            'a capital letter and one to nine capital letters or digits.'
        );
    end if;
    if p_attribution_policy is not null then
        perform dispatch._check_word(
            'p_attribution_policy', p_attribution_policy, array['owner_fallback', 'fail_closed']
        );
    end if;
    insert into dispatch.workspace as w (id, name, issue_prefix, attribution_policy, created_at)
    values (
        p_workspace_id, p_name,
        coalesce(p_issue_prefix, dispatch._derive_prefix(p_name)),
        coalesce(p_attribution_policy, 'owner_fallback'),
        v_now
    )
    on conflict (id) do update
    set
        name = p_name,
        issue_prefix = coalesce(p_issue_prefix, w.issue_prefix),
        attribution_policy = coalesce(p_attribution_policy, w.attribution_policy)
    where (w.name, w.issue_prefix, w.attribution_policy) is distinct from (
        p_name,
        coalesce(p_issue_prefix, w.issue_prefix),
        coalesce(p_attribution_policy, w.attribution_policy)
    );
end;
$fn$;

comment on function dispatch.put_workspace(uuid, text, text, text) is
$doc$Store a workspace, or change what is given.

p_issue_prefix leads the identifiers of its issues; NULL keeps it, and derives one from the name
at first. Another prefix renames the existing issues' identifiers too. p_attribution_policy is
owner_fallback, the first default, or fail_closed; NULL keeps it. Two workspaces may have one
prefix. Repeating a call changes nothing. Rule: issue-to-run 8.
Errors: PD400 missing or all-zero argument, name too long, issue prefix of a wrong shape,
unknown policy.$doc$;
-- end sql/30_functions/directory/put_workspace.sql

-- begin sql/30_functions/directory/remove_member.sql
-- Locks: the member FOR UPDATE, which stops new grants to them and new agents of theirs, then
-- the agents that they own by id.
create or replace function dispatch.remove_member(p_workspace_id uuid, p_user_id uuid)
returns void
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $fn$
begin
    perform dispatch._hold_workspace(p_workspace_id);
    perform dispatch._check_ids(array['p_user_id'], array[p_user_id]);
    perform
    from dispatch.member as m
    where m.workspace_id = p_workspace_id and m.user_id = p_user_id
    for update;
    if not found then
        perform dispatch._raise(
            'PD404', 'member not found', 'p_user_id', 'name a member of the workspace.'
        );
    end if;
    perform
    from dispatch.agent as a
    where a.workspace_id = p_workspace_id and a.owner_id = p_user_id
    order by a.id
    for no key update;
    update dispatch.agent as a
    set owner_id = null
    where a.workspace_id = p_workspace_id and a.owner_id = p_user_id;
    delete from dispatch.agent_grant as g
    where g.workspace_id = p_workspace_id
        and g.target_type = 'member'
        and g.target_id = p_user_id;
    delete from dispatch.team_member as t
    where t.workspace_id = p_workspace_id and t.user_id = p_user_id;
    delete from dispatch.member as m
    where m.workspace_id = p_workspace_id and m.user_id = p_user_id;
end;
$fn$;

comment on function dispatch.remove_member(uuid, uuid) is
$doc$Take a human out of the workspace, with their team memberships and the grants made to them.

Agents that they owned stay without an owner until put_agent names another. Their runs and what
they wrote stay as they are.
Errors: PD400 missing or all-zero argument, PD404 workspace or member not found.$doc$;
-- end sql/30_functions/directory/remove_member.sql

-- begin sql/30_functions/directory/remove_team_member.sql
create or replace function dispatch.remove_team_member(
    p_workspace_id uuid,
    p_team_id uuid,
    p_user_id uuid
)
returns void
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $fn$
begin
    perform dispatch._require_workspace(p_workspace_id);
    perform dispatch._check_ids(array['p_team_id', 'p_user_id'], array[p_team_id, p_user_id]);
    delete from dispatch.team_member as t
    where t.workspace_id = p_workspace_id
        and t.team_id = p_team_id
        and t.user_id = p_user_id;
end;
$fn$;

comment on function dispatch.remove_team_member(uuid, uuid, uuid) is
$doc$Take a member out of a team.

Somebody who is not in it, and a team that is not there, change nothing.
Errors: PD400 missing or all-zero argument, PD404 workspace not found.$doc$;
-- end sql/30_functions/directory/remove_team_member.sql

-- begin sql/30_functions/directory/revoke_invoke.sql
create or replace function dispatch.revoke_invoke(
    p_workspace_id uuid,
    p_agent_id uuid,
    p_target_type text,
    p_target_id uuid default null
)
returns void
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_target uuid;
begin
    perform dispatch._require_workspace(p_workspace_id);
    v_target := dispatch._grant_target(p_workspace_id, p_agent_id, p_target_type, p_target_id);
    delete from dispatch.agent_grant as g
    where g.workspace_id = p_workspace_id
        and g.agent_id = p_agent_id
        and g.target_type = p_target_type
        and g.target_id = v_target;
end;
$fn$;

comment on function dispatch.revoke_invoke(uuid, uuid, text, uuid) is
$doc$Take back what grant_invoke gave; the arguments are the same.

A grant that is not there changes nothing. Runs that were admitted stay.
Errors: PD400 missing, unknown or all-zero argument; PD404 workspace not found.$doc$;
-- end sql/30_functions/directory/revoke_invoke.sql

-- begin sql/30_functions/directory/set_agent_status.sql
-- Locks: the agent FOR UPDATE.
create or replace function dispatch.set_agent_status(
    p_workspace_id uuid,
    p_agent_id uuid,
    p_status text
)
returns void
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_runtime uuid;
begin
    perform dispatch._require_workspace(p_workspace_id);
    perform dispatch._check_ids(array['p_agent_id'], array[p_agent_id]);
    perform dispatch._check_word(
        'p_status', p_status, array['active', 'paused', 'stopped', 'pending_approval']
    );
    v_runtime := dispatch._lock_live_agent(p_workspace_id, p_agent_id);
    update dispatch.agent as a
    set status = p_status
    where a.workspace_id = p_workspace_id and a.id = p_agent_id and a.status <> p_status;
    if found and p_status = 'active' then
        perform dispatch._notify_runtimes(array[v_runtime]);
    end if;
end;
$fn$;

comment on function dispatch.set_agent_status(uuid, uuid, text) is
$doc$Set an agent to active, paused, stopped or pending_approval.

Only an active agent is woken and claimed for; its runs stay as they are. Repeating a call
changes nothing.
Errors: PD400 missing, unknown or all-zero argument; PD404 workspace or agent not found; PD409
agent is archived.$doc$;
-- end sql/30_functions/directory/set_agent_status.sql

-- begin sql/30_functions/directory/set_runtime_offline.sql
-- Locks: the runtime.
create or replace function dispatch.set_runtime_offline(
    p_workspace_id uuid,
    p_runtime_id uuid,
    p_reason text default null
)
returns void
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_now timestamptz;
begin
    perform dispatch._require_workspace(p_workspace_id);
    perform dispatch._check_ids(array['p_runtime_id'], array[p_runtime_id]);
    if p_reason is not null then
        perform dispatch._check_text('p_reason', p_reason, dispatch.reason_limit());
    end if;
    perform
    from dispatch.runtime as r
    where r.workspace_id = p_workspace_id and r.id = p_runtime_id
    for no key update;
    if not found then
        perform dispatch._raise(
            'PD404', 'runtime not found', 'p_runtime_id', 'name a runtime of the workspace.'
        );
    end if;
    v_now := dispatch.clock();
    update dispatch.runtime as r
    set
        status = 'offline',
        offline_reason = coalesce(p_reason, r.offline_reason),
        updated_at = v_now
    where r.workspace_id = p_workspace_id
        and r.id = p_runtime_id
        and (r.status, r.offline_reason)
        is distinct from ('offline', coalesce(p_reason, r.offline_reason));
end;
$fn$;

comment on function dispatch.set_runtime_offline(uuid, uuid, text) is
$doc$Mark a runtime as offline.

p_reason not_executable makes its agents unusable, so that their wakes are refused; with any
other reason they wait. NULL keeps the reason of an earlier call; the next heartbeat forgets it.
Runs in its daemon's hands stay. Repeating a call changes nothing. Rule: issue-to-run 4.
Errors: PD400 missing or all-zero argument, reason blank or too long; PD404 workspace or runtime
not found.$doc$;
-- end sql/30_functions/directory/set_runtime_offline.sql

-- begin sql/30_functions/explain/_explain_claim.sql
create or replace function dispatch._explain_claim(
    p_workspace_id uuid,
    p_issue_id uuid,
    p_agent_id uuid,
    p_run dispatch.run,
    p_now timestamptz
)
returns setof dispatch.explanation
language plpgsql
stable
parallel safe
rows 10
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_active constant dispatch.run_status[] := array[
        'dispatched', 'waiting_local_directory', 'running'
    ]::dispatch.run_status[];
    v_is_active constant boolean := coalesce(p_run.status = any(v_active), false);
    v_agent record;
    v_runtime record;
    v_runtime_code dispatch.reason_code;
    v_used bigint;
    v_lane uuid;
    v_last record;
    v_place bigint;
begin
    select a.id, a.runtime_id, a.max_concurrent_runs
    into v_agent
    from dispatch.agent as a
    where a.workspace_id = p_workspace_id and a.id = p_agent_id;
    select t.id, t.status, t.last_seen_at, t.offline_reason
    into v_runtime
    from dispatch.runtime as t
    where t.workspace_id = p_workspace_id
        and t.id = coalesce(p_run.runtime_id, v_agent.runtime_id);
    v_runtime_code := case
        when v_runtime.id is null then 'agent_runtime_required'::dispatch.reason_code
        when v_runtime.status = 'offline' and v_runtime.offline_reason = 'not_executable'
            then 'runtime_unusable'
        when cardinality(
            dispatch._fresh_runtimes(p_workspace_id, array[v_runtime.id], p_now)
        ) = 0 then 'runtime_offline'
    end;
    select count(*), (array_agg(r.id) filter (where r.lane = p_issue_id))[1]
    into v_used, v_lane
    from dispatch.run as r
    where r.workspace_id = p_workspace_id
        and r.agent_id = p_agent_id
        and r.status in ('dispatched', 'waiting_local_directory', 'running');
    v_place := case
        when p_run.status = 'queued' then dispatch._queue_place(p_workspace_id, p_run)
    end;
    select r.id, r.status
    into v_last
    from dispatch.run_detail as d
    inner join dispatch.run as r on r.workspace_id = p_workspace_id and r.id = d.run_id
    where d.workspace_id = p_workspace_id and d.issue_id = p_issue_id
    order by d.requested_at desc, d.run_id desc
    limit 1;

    return query
    select
        c.step, case when v_agent.id is not null then c.ok end,
        case when v_agent.id is not null then c.code end,
        case when v_agent.id is not null then jsonb_strip_nulls(c.detail) else '{}' end
    from (
        values
            (
                'runtime', v_runtime_code is null, v_runtime_code,
                jsonb_build_object(
                    'runtime_id', v_runtime.id, 'status', v_runtime.status,
                    'last_seen_at', v_runtime.last_seen_at
                )
            ),
            (
                'capacity', v_is_active or v_used < v_agent.max_concurrent_runs, null,
                jsonb_build_object(
                    'active', v_used, 'max_concurrent_runs', v_agent.max_concurrent_runs
                )
            ),
            (
                'lane', v_is_active or v_lane is null, null,
                jsonb_build_object('run_id', v_lane)
            )
    ) as c (step, ok, code, detail)
    union all
    select
        'queue', v_is_active or coalesce(v_place = 1, false),
        case
            when p_run.status = 'deferred' then 'deferred'
            when p_run.id is null then 'not_triggered'
        end::dispatch.reason_code,
        jsonb_strip_nulls(jsonb_build_object(
            'run_id', coalesce(p_run.id, v_last.id), 'status',
            coalesce(p_run.status, v_last.status), 'place', v_place, 'fire_at',
            case when p_run.status = 'deferred' then p_run.fire_at end
        ));
end;
$fn$;

comment on function dispatch._explain_claim(
    uuid, uuid, uuid, dispatch.run, timestamptz
) is
$doc$Explain what a claim at p_now has to go by: steps runtime, capacity, lane, queue.

p_run is the run that stands for the issue and its agent, NULLs when none does; then the queue
names the issue's last run. Waiting for capacity, for the lane or for an earlier run of the
agent has no code.
Errors: none.$doc$;
-- end sql/30_functions/explain/_explain_claim.sql

-- begin sql/30_functions/explain/_explain_gates.sql
-- The gates are asked one by one, each by the function by which admission asks it. An allowance
-- is asked for as if an agent had assigned, since people have none.
create or replace function dispatch._explain_gates(
    p_workspace_id uuid,
    p_wake dispatch.wake,
    p_run_id uuid,
    p_now timestamptz
)
returns setof dispatch.explanation
language plpgsql
volatile
parallel unsafe
rows 10
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_wake dispatch.wake := p_wake;
    v_gated dispatch._candidate[];
    v_codes dispatch.reason_code[];
    v_paused constant dispatch.reason_code := dispatch._pause_verdict(p_workspace_id);
    v_is_asked constant boolean := p_wake.agent_id is not null;
    v_recent uuid;
    v_old uuid;
    v_allowance text;
    v_count jsonb;
begin
    v_wake.skip := '{pause}';
    v_gated := dispatch._gate_wakes(p_workspace_id, array[v_wake], p_now);
    v_codes[1] := nullif(v_gated[1].code, 'attribution_blocked');
    v_wake.skip := '{agent,pause}';
    v_gated := dispatch._gate_wakes(p_workspace_id, array[v_wake], p_now);
    v_codes[2] := v_gated[1].code;
    v_wake.payload := v_wake.payload || '{"actor_type": "agent"}';
    select nullif(a.reason, 'count_read_failed'), a.detail
    into v_allowance, v_count
    from dispatch._allowance_verdict(p_workspace_id, v_wake, p_now) as a;
    if p_run_id is null then
        v_recent := dispatch._find_duplicate(p_workspace_id, p_wake.idempotency_key, p_now);
        select d.run_id
        into v_old
        from dispatch.run_detail as d
        where d.workspace_id = p_workspace_id and d.idempotency_key = p_wake.idempotency_key;
    else
        v_codes := array[
            case when v_codes[1] = 'agent_not_runnable' then v_codes[1] end, null
        ];
        v_allowance := null;
    end if;

    return query
    select
        g.step,
        case when v_is_asked or g.step = 'pause' then g.code is null end,
        case when v_is_asked or g.step = 'pause' then g.code::dispatch.reason_code end,
        case when v_is_asked then jsonb_strip_nulls(g.detail) else '{}' end
    from (
        values
            ('agent', v_codes[1]::text, jsonb_build_object('agent_id', p_wake.agent_id)),
            ('attribution', v_codes[2]::text, '{}'),
            ('pause', v_paused::text, '{}'),
            (
                'duplicate', case when v_recent is not null then 'duplicate_recent' end,
                jsonb_build_object('run_id', v_recent)
            ),
            ('coalesce', null, '{}'),
            ('pending_slot', null, jsonb_build_object('run_id', p_run_id)),
            ('allowance', v_allowance, coalesce(v_count, '{}')),
            (
                'insert',
                case when v_old is not null and v_recent is null then 'duplicate_key' end,
                jsonb_build_object('run_id', coalesce(p_run_id, v_old))
            )
    ) as g (step, code, detail);
end;
$fn$;

comment on function dispatch._explain_gates(uuid, dispatch.wake, uuid, timestamptz) is
$doc$Explain what the gates of admission say at p_now to the wake of an issue's assignment, in
their order.

p_run_id is the run that stands for the issue and its agent, if one does: it has passed the
gates, and only what a claim asks again can be in its way, the agent's status and the pause.
Without an agent in the wake only the pause is asked.
Errors: those of the gates' reads.$doc$;
-- end sql/30_functions/explain/_explain_gates.sql

-- begin sql/30_functions/explain/_explain_predicate.sql
-- The write that is explained has no actor, so neither the invoke gate nor the rules about an
-- acting agent are asked.
create or replace function dispatch._explain_predicate(
    p_workspace_id uuid,
    p_issue dispatch.issue,
    p_agent_id uuid,
    p_target_why text,
    p_is_standing boolean
)
returns setof dispatch.explanation
language plpgsql
stable
parallel safe
rows 10
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_will record;
    v_has_target boolean;
    v_status_why text;
    v_target_why constant text := case when not p_is_standing then p_target_why end;
begin
    v_will := dispatch.will_enqueue_run(
        p_workspace_id, p_issue, null, true, true, true, 'system', p_check_access => false
    );
    v_has_target := v_will.why is null
        or v_will.why not in ('no_assignee', 'member_assignee');
    v_status_why := case
        when p_is_standing then null
        when v_will.why = 'parked_in_backlog' then v_will.why
        when p_issue.status in ('done', 'cancelled') then 'closed'
    end;
    return query
    select
        s.step, s.why is null,
        case when s.why is not null then 'not_triggered'::dispatch.reason_code end,
        jsonb_strip_nulls(s.detail || jsonb_build_object('why', s.why))
    from (
        values
            (
                'assignee', case when not v_has_target then v_will.why end,
                jsonb_build_object(
                    'assignee_type', p_issue.assignee_type, 'assignee_id', p_issue.assignee_id
                )
            ),
            ('status', v_status_why, jsonb_build_object('status', p_issue.status))
    ) as s (step, why, detail)
    union all
    select
        'target', case when v_has_target then v_target_why is null end,
        case when v_target_why is not null then 'not_triggered'::dispatch.reason_code end,
        jsonb_strip_nulls(jsonb_build_object('agent_id', p_agent_id, 'why', v_target_why));
end;
$fn$;

comment on function dispatch._explain_predicate(uuid, dispatch.issue, uuid, text, boolean) is
$doc$Explain what the predicate says to an assignment of the issue as it stands: steps assignee,
status, target.

p_agent_id and p_target_why are what _run_target gives for its assignee. A closed issue is not
ok, though a new assignment would start its run. p_is_standing: the run is there, so the status
and the target are no longer in its way.
Errors: none.$doc$;
-- end sql/30_functions/explain/_explain_predicate.sql

-- begin sql/30_functions/explain/_queue_place.sql
create or replace function dispatch._queue_place(p_workspace_id uuid, p_run dispatch.run)
returns bigint
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_place bigint;
begin
    select count(*)
    into v_place
    from dispatch.run as r
    where r.workspace_id = p_workspace_id
        and r.runtime_id = p_run.runtime_id
        and r.agent_id = p_run.agent_id
        and r.status = 'queued'
        and (
            r.priority > p_run.priority
            or (
                r.priority = p_run.priority
                and (r.requested_at, r.id) <= (p_run.requested_at, p_run.id)
            )
        );
    return v_place;
end;
$fn$;

comment on function dispatch._queue_place(uuid, dispatch.run) is
$doc$Give the place of a queued run among those of its agent on its runtime, from 1.

Errors: none.$doc$;
-- end sql/30_functions/explain/_queue_place.sql

-- begin sql/30_functions/explain/_standing_pair_run.sql
create or replace function dispatch._standing_pair_run(
    p_workspace_id uuid,
    p_issue_id uuid,
    p_agent_id uuid
)
returns dispatch.run
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_run dispatch.run;
begin
    select
        r.workspace_id, r.id, r.agent_id, r.runtime_id, r.issue_id, r.lane, r.status,
        r.priority, r.claim_no, r.attempt, r.max_attempts, r.requested_at, r.fire_at,
        r.dispatched_at, r.lease_expires_at, r.started_at, r.finished_at
    into v_run
    from dispatch.run_detail as d
    inner join dispatch.run as r on r.workspace_id = p_workspace_id and r.id = d.run_id
    where d.workspace_id = p_workspace_id
        and d.issue_id = p_issue_id
        and r.agent_id = p_agent_id
        and r.status in (
            'deferred', 'queued', 'dispatched', 'waiting_local_directory', 'running'
        )
    order by
        r.status in ('deferred', 'queued'), r.status = 'deferred', r.requested_at, r.id
    limit 1;
    return v_run;
end;
$fn$;

comment on function dispatch._standing_pair_run(uuid, uuid, uuid) is
$doc$Give the run of an issue and an agent that has not ended: the active one, else the queued,
else the deferred one that was asked for first. NULLs when there is none.

Errors: none.$doc$;
-- end sql/30_functions/explain/_standing_pair_run.sql

-- begin sql/30_functions/explain/explain_issue.sql
-- Locks nothing. The wake that is explained is that of the present assignment as the issue's
-- creator would send it, since the issue does not keep who assigned it.
create or replace function dispatch.explain_issue(p_workspace_id uuid, p_issue_id uuid)
returns setof dispatch.explanation
language plpgsql
volatile
parallel unsafe
rows 20
security definer
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_now constant timestamptz := dispatch.clock();
    v_issue dispatch.issue;
    v_agent uuid;
    v_why text;
    v_run dispatch.run;
    v_wake dispatch.wake;
begin
    perform dispatch._require_workspace(p_workspace_id);
    perform dispatch._check_ids(array['p_issue_id'], array[p_issue_id]);
    select
        i.workspace_id, i.id, i.number, i.title, i.status, i.priority, i.assignee_type,
        i.assignee_id, i.assignment_generation, i.creator_type, i.creator_id, i.origin_type,
        i.origin_id, i.parent_id, i.stage, i.created_at, i.updated_at
    into v_issue
    from dispatch.issue as i
    where i.workspace_id = p_workspace_id and i.id = p_issue_id;
    if not found then
        perform dispatch._raise(
            'PD404', 'issue not found', 'p_issue_id', 'name an issue of the workspace.'
        );
    end if;
    if v_issue.assignee_type in ('agent', 'squad') then
        select t.agent_id, t.why
        into v_agent, v_why
        from dispatch._run_target(
            p_workspace_id, v_issue.assignee_type, v_issue.assignee_id
        ) as t;
        v_run := dispatch._standing_pair_run(p_workspace_id, p_issue_id, v_agent);
    end if;
    v_wake := dispatch._issue_wake(
        v_issue, v_agent,
        case when v_issue.assignee_type = 'squad' then v_issue.assignee_id end, 'assign',
        v_issue.creator_type, v_issue.creator_id,
        case when v_issue.origin_type = 'agent_create' then v_issue.origin_id end, null
    );

    return query
    select e.step, e.ok, e.reason_code, e.detail
    from dispatch._explain_predicate(
        p_workspace_id, v_issue, v_agent, v_why, v_run.id is not null
    ) as e;
    return query
    select e.step, e.ok, e.reason_code, e.detail
    from dispatch._explain_gates(p_workspace_id, v_wake, v_run.id, v_now) as e;
    return query
    select e.step, e.ok, e.reason_code, e.detail
    from dispatch._explain_claim(p_workspace_id, p_issue_id, v_agent, v_run, v_now) as e;
end;
$fn$;

comment on function dispatch.explain_issue(uuid, uuid) is
$doc$Explain why an issue is or is not being worked on, one row a step, in a wake's order.

Steps: assignee, status and target (the predicate, its word as "why" in detail); agent,
attribution, pause, duplicate, coalesce, pending_slot, allowance and insert (the gates of
admission); runtime, capacity, lane and queue (what a claim goes by). The first that is not ok
is what the issue waits for. ok is NULL when there is nothing to look at. The allowance is that
of agents: people have none. Rule: issue-to-run 5.
Errors: PD400 missing or all-zero argument; PD404 workspace or issue not found.$doc$;
-- end sql/30_functions/explain/explain_issue.sql

-- begin sql/30_functions/identity/resolve_issue.sql
-- The identifier comes first: no text is both, since a uuid has more digits than an identifier
-- may have. A text is cast only after its form was judged, so that no cast can fail.
create or replace function dispatch.resolve_issue(p_workspace_id uuid, p_reference text)
returns uuid
language plpgsql
stable
parallel safe
security definer
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_parts constant text[] := regexp_match(
        p_reference, '^([A-Za-z][A-Za-z0-9]{1,9})-([1-9][0-9]{0,17})$'
    );
    v_bare constant text := regexp_replace(p_reference, '^\{(.*)\}$', '\1');
    v_issue uuid;
begin
    perform dispatch._check_ids(array['p_workspace_id'], array[p_workspace_id]);
    if p_reference is null or btrim(p_reference) = '' then
        perform dispatch._raise(
            'PD400', 'argument missing', 'p_reference', 'give an identifier or a uuid.'
        );
    end if;
    if v_parts is not null then
        select i.id
        into v_issue
        from dispatch.workspace as w
        inner join dispatch.issue as i on i.workspace_id = w.id
        where w.id = p_workspace_id
            and i.workspace_id = p_workspace_id
            and w.issue_prefix = upper(v_parts[1] collate "C")
            and i.number = v_parts[2]::bigint;
    elsif v_bare ~* '^([0-9a-f]{4}-?){7}[0-9a-f]{4}$' then
        select i.id
        into v_issue
        from dispatch.issue as i
        where i.workspace_id = p_workspace_id and i.id = v_bare::uuid;
    end if;
    if v_issue is null then
        perform dispatch._raise(
            'PD404', 'issue not found', 'p_reference', 'name an issue of the workspace.'
        );
    end if;
    return v_issue;
end;
$fn$;

comment on function dispatch.resolve_issue(uuid, text) is
$doc$Find an issue by what people write: its identifier, as ABC-42, or its id.

The prefix must be the workspace's own, in either case; a uuid may have any form that the server
reads. A foreign issue, another prefix and a malformed text are not found, alike; nor is the
all-zero uuid. Rule: issue-to-run 9.
Errors: PD400 argument missing, PD404 issue not found.$doc$;
-- end sql/30_functions/identity/resolve_issue.sql

-- begin sql/30_functions/issues/_apply_changes.sql
create or replace function dispatch._apply_changes(
    p_issues dispatch.issue[],
    p_title text,
    p_status text,
    p_priority text,
    p_is_assigned boolean,
    p_assignee_type text,
    p_assignee_id uuid
)
returns dispatch.issue[]
language plpgsql
immutable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_issues dispatch.issue[] := p_issues;
    v_issue dispatch.issue;
begin
    for v_i in 1..cardinality(p_issues) loop
        v_issue := p_issues[v_i];
        v_issue.title := coalesce(p_title, v_issue.title);
        v_issue.status := coalesce(p_status, v_issue.status);
        v_issue.priority := coalesce(p_priority, v_issue.priority);
        if p_is_assigned then
            v_issue.assignee_type := p_assignee_type;
            v_issue.assignee_id := p_assignee_id;
            v_issue.assignment_generation := v_issue.assignment_generation + 1;
        end if;
        v_issues[v_i] := v_issue;
    end loop;
    return v_issues;
end;
$fn$;

comment on function dispatch._apply_changes(
    dispatch.issue[], text, text, text, boolean, text, uuid
) is
$doc$Give issues as they are once changes are written, in the same order, and write nothing.

A NULL field is not written; p_is_assigned tells that the assignee is. A written assignee counts
as an assignment even when it is the same one: the generation grows.
Errors: none.$doc$;
-- end sql/30_functions/issues/_apply_changes.sql

-- begin sql/30_functions/issues/_assignee_refusal.sql
-- The invoke gate comes first, so that the answer for an archived agent tells nothing to whom
-- it is not open. A squad is judged by its leader, who would run the work.
create or replace function dispatch._assignee_refusal(
    p_workspace_id uuid,
    p_name text,
    p_assignee_type text,
    p_assignee_id uuid,
    p_actor_type text,
    p_originator_id uuid
)
returns dispatch.reason_code
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_agent uuid := p_assignee_id;
    v_squad_archived_at timestamptz;
begin
    if p_assignee_type is null then
        return null;
    elsif p_assignee_type = 'member' then
        if not exists (
            select from dispatch.member as m
            where m.workspace_id = p_workspace_id and m.user_id = p_assignee_id
        ) then
            perform dispatch._raise(
                'PD400', 'assignee is no member', p_name, 'name a member of the workspace.'
            );
        end if;
        return null;
    elsif p_assignee_type = 'squad' then
        select s.leader_id, s.archived_at
        into v_agent, v_squad_archived_at
        from dispatch.squad as s
        where s.workspace_id = p_workspace_id and s.id = p_assignee_id;
    end if;
    if not dispatch._may_invoke(p_workspace_id, v_agent, p_actor_type, p_originator_id) then
        return 'invocation_not_allowed'::dispatch.reason_code;
    elsif v_squad_archived_at is not null or exists (
        select from dispatch.agent as a
        where a.workspace_id = p_workspace_id
            and a.id = v_agent
            and a.archived_at is not null
    ) then
        return 'target_unavailable'::dispatch.reason_code;
    end if;
    return null;
end;
$fn$;

comment on function dispatch._assignee_refusal(uuid, text, text, uuid, text, uuid) is
$doc$Give the code with which an assignee is refused; NULL when the issue may have it.

invocation_not_allowed: the human at the top of the chain may not invoke the agent or the
squad's leader, or there is none. target_unavailable: it may be invoked but is archived, squad
or agent. Nobody and members of the workspace pass.
Errors: PD400 assignee is no member, naming p_name.$doc$;
-- end sql/30_functions/issues/_assignee_refusal.sql

-- begin sql/30_functions/issues/_check_new_issue.sql
create or replace function dispatch._check_new_issue(
    p_title text,
    p_status text,
    p_priority text,
    p_assignee_type text,
    p_assignee_id uuid,
    p_issue_id uuid,
    p_parent_id uuid,
    p_stage integer
)
returns void
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    perform dispatch._check_text('p_title', p_title, dispatch.name_limit());
    perform dispatch._check_status('p_status', p_status);
    perform dispatch._check_priority('p_priority', p_priority);
    perform dispatch._check_optional_ids(
        array['p_assignee_id', 'p_issue_id', 'p_parent_id'],
        array[p_assignee_id, p_issue_id, p_parent_id]
    );
    if p_assignee_type is not null then
        perform dispatch._check_word(
            'p_assignee_type', p_assignee_type, array['agent', 'squad', 'member']
        );
        perform dispatch._check_ids(array['p_assignee_id'], array[p_assignee_id]);
    elsif p_assignee_id is not null then
        perform dispatch._raise(
            'PD400', 'argument missing', 'p_assignee_type', 'say what the assignee is.'
        );
    end if;
    if p_stage < 0 then
        perform dispatch._raise('PD400', 'stage out of range', 'p_stage', '0 or more.');
    end if;
end;
$fn$;

comment on function dispatch._check_new_issue(
    text, text, text, text, uuid, uuid, uuid, integer
) is
$doc$Refuse the first malformed argument of a creation.

Errors: PD400 argument missing, text too long, unknown word, all-zero id, stage out of
range.$doc$;
-- end sql/30_functions/issues/_check_new_issue.sql

-- begin sql/30_functions/issues/_check_priority.sql
create or replace function dispatch._check_priority(p_name text, p_priority text)
returns void
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    perform dispatch._check_word(
        p_name, p_priority, array['urgent', 'high', 'medium', 'low', 'none']
    );
end;
$fn$;

comment on function dispatch._check_priority(text, text) is
$doc$Refuse a priority of an issue that is NULL or unknown.

Errors: PD400 argument missing or unknown word.$doc$;
-- end sql/30_functions/issues/_check_priority.sql

-- begin sql/30_functions/issues/_check_run_options.sql
create or replace function dispatch._check_run_options(
    p_handoff_note text,
    p_suppress_run boolean
)
returns void
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    if octet_length(p_handoff_note) > dispatch.document_limit() then
        perform dispatch._raise(
            'PD400', 'text too long', 'p_handoff_note',
            format('at most %s bytes.', dispatch.document_limit())
        );
    end if;
    if p_suppress_run is null then
        perform dispatch._raise(
            'PD400', 'argument missing', 'p_suppress_run', 'true or false.'
        );
    end if;
end;
$fn$;

comment on function dispatch._check_run_options(text, boolean) is
$doc$Refuse a handoff note longer than document_limit() and a NULL p_suppress_run.

Errors: PD400 text too long or argument missing.$doc$;
-- end sql/30_functions/issues/_check_run_options.sql

-- begin sql/30_functions/issues/_check_status.sql
create or replace function dispatch._check_status(p_name text, p_status text)
returns void
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    perform dispatch._check_word(
        p_name, p_status,
        array['backlog', 'todo', 'in_progress', 'in_review', 'blocked', 'done', 'cancelled']
    );
end;
$fn$;

comment on function dispatch._check_status(text, text) is
$doc$Refuse a status of an issue that is NULL or unknown.

Errors: PD400 argument missing or unknown word.$doc$;
-- end sql/30_functions/issues/_check_status.sql

-- begin sql/30_functions/issues/_insert_issue.sql
-- Locks: the workspace's counter, then the parent FOR KEY SHARE, so that it is not deleted
-- before the insert.
create or replace function dispatch._insert_issue(
    p_workspace_id uuid,
    p_issue dispatch.issue
)
returns dispatch.issue
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_issue dispatch.issue := p_issue;
begin
    v_issue.number := dispatch._next_issue_number(p_workspace_id);
    if v_issue.parent_id is not null then
        perform
        from dispatch.issue as i
        where i.workspace_id = p_workspace_id and i.id = v_issue.parent_id
        for key share;
        if not found then
            perform dispatch._raise(
                'PD404', 'parent not found', 'p_parent_id', 'name an issue of the workspace.'
            );
        end if;
    end if;
    v_issue.created_at := dispatch.clock();
    v_issue.updated_at := v_issue.created_at;
    insert into dispatch.issue (
        workspace_id, id, number, title, status, priority, assignee_type, assignee_id,
        assignment_generation, creator_type, creator_id, origin_type, origin_id, parent_id,
        stage, created_at, updated_at
    )
    values (
        p_workspace_id, v_issue.id, v_issue.number, v_issue.title, v_issue.status,
        v_issue.priority, v_issue.assignee_type, v_issue.assignee_id,
        v_issue.assignment_generation, v_issue.creator_type, v_issue.creator_id,
        v_issue.origin_type, v_issue.origin_id, v_issue.parent_id, v_issue.stage,
        v_issue.created_at, v_issue.updated_at
    )
    on conflict (workspace_id, id) do nothing;
    if not found then
        perform dispatch._raise(
            'PD409', 'issue id taken', 'p_issue_id', 'leave it out or give another id.'
        );
    end if;
    return v_issue;
end;
$fn$;

comment on function dispatch._insert_issue(uuid, dispatch.issue) is
$doc$Number and insert an issue, and give it as it stands.

Errors: PD404 parent not found, PD409 issue id taken.$doc$;
-- end sql/30_functions/issues/_insert_issue.sql

-- begin sql/30_functions/issues/_issue_answer.sql
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
-- end sql/30_functions/issues/_issue_answer.sql

-- begin sql/30_functions/issues/_issue_prefix.sql
create or replace function dispatch._issue_prefix(p_workspace_id uuid)
returns text
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_prefix text;
begin
    perform dispatch._check_ids(array['p_workspace_id'], array[p_workspace_id]);
    select w.issue_prefix
    into v_prefix
    from dispatch.workspace as w
    where w.id = p_workspace_id;
    if not found then
        perform dispatch._raise(
            'PD404', 'workspace not found', 'p_workspace_id',
            'make it with put_workspace first.'
        );
    end if;
    return v_prefix;
end;
$fn$;

comment on function dispatch._issue_prefix(uuid) is
$doc$Give the leading letters of a workspace's identifiers.

Errors: PD400 argument missing or all-zero id, PD404 workspace not found.$doc$;
-- end sql/30_functions/issues/_issue_prefix.sql

-- begin sql/30_functions/issues/_issue_wake.sql
-- Each assignment has a key of its own, since the generation grows with every one, so assigning
-- to A, B and A again wakes three times. A promotion has none: the pending slot keeps it
-- single.
create or replace function dispatch._issue_wake(
    p_issue dispatch.issue,
    p_agent_id uuid,
    p_squad_id uuid,
    p_source text,
    p_actor_type text,
    p_actor_id uuid,
    p_acting_run_id uuid,
    p_handoff_note text
)
returns dispatch.wake
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_wake dispatch.wake;
begin
    v_wake.agent_id := p_agent_id;
    v_wake.source := p_source;
    if p_source = 'assign' then
        v_wake.reason := 'task_assigned';
        v_wake.payload := jsonb_build_object(
            'task_id', p_issue.id,
            'actor_type', case when p_actor_type = 'agent' then 'agent' else 'user' end,
            'actor_id', p_actor_id
        );
        v_wake.idempotency_key := format(
            'task_assigned:%s:%s:%s', p_issue.id, p_agent_id, p_issue.assignment_generation
        );
    else
        v_wake.reason := 'task_promoted';
        v_wake.payload := jsonb_build_object('task_id', p_issue.id);
    end if;
    v_wake.issue_id := p_issue.id;
    v_wake.priority := dispatch._priority_rank(p_issue.priority);
    v_wake.coalesce := true;
    v_wake.actor_type := p_actor_type;
    v_wake.actor_id := p_actor_id;
    v_wake.acting_run_id := p_acting_run_id;
    v_wake.evidence_kind := 'issue_assignment';
    v_wake.evidence_id := p_issue.id;
    v_wake.squad_id := p_squad_id;
    v_wake.is_leader_run := p_squad_id is not null;
    v_wake.handoff_note := p_handoff_note;
    return v_wake;
end;
$fn$;

comment on function dispatch._issue_wake(
    dispatch.issue, uuid, uuid, text, text, uuid, uuid, text
) is
$doc$Make the wake of an assignment (source assign) or of a promotion (source status).

The payload of an assignment says who assigned: agent exactly when an agent acts.
Errors: none.$doc$;
-- end sql/30_functions/issues/_issue_wake.sql

-- begin sql/30_functions/issues/_next_issue_number.sql
-- Locks: the workspace row, to the end of the transaction: the counter is what creators queue
-- for, so it is taken as late as the lock order allows.
create or replace function dispatch._next_issue_number(p_workspace_id uuid)
returns bigint
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_number bigint;
begin
    update dispatch.workspace as w
    set issue_counter = w.issue_counter + 1
    where w.id = p_workspace_id
    returning w.issue_counter into v_number;
    if not found then
        perform dispatch._raise(
            'PD404', 'workspace not found', 'p_workspace_id',
            'make it with put_workspace first.'
        );
    end if;
    return v_number;
end;
$fn$;

comment on function dispatch._next_issue_number(uuid) is
$doc$Take the next issue number of a workspace.

Errors: PD404 the workspace was deleted meanwhile.$doc$;
-- end sql/30_functions/issues/_next_issue_number.sql

-- begin sql/30_functions/issues/_passed_assignees.sql
-- An agent and a squad may have one id: then both must pass.
create or replace function dispatch._passed_assignees(
    p_workspace_id uuid,
    p_issues dispatch.issue[],
    p_actor_type text,
    p_originator_id uuid
)
returns uuid[]
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    return array(
        select s.assignee_id
        from (
            select distinct i.assignee_type, i.assignee_id
            from unnest(p_issues) as i
            where i.assignee_type in ('agent', 'squad')
        ) as s
        group by s.assignee_id
        having bool_and(
            dispatch._assignee_refusal(
                p_workspace_id, 'p_issue_ids', s.assignee_type, s.assignee_id, p_actor_type,
                p_originator_id
            ) is distinct from 'invocation_not_allowed'
        )
    );
end;
$fn$;

comment on function dispatch._passed_assignees(uuid, dispatch.issue[], text, uuid) is
$doc$Give those assignees of issues, agents and squads, that the human at the top of the chain
may invoke.

Errors: none.$doc$;
-- end sql/30_functions/issues/_passed_assignees.sql

-- begin sql/30_functions/issues/_preview_rows.sql
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
-- end sql/30_functions/issues/_preview_rows.sql

-- begin sql/30_functions/issues/_priority_rank.sql
create or replace function dispatch._priority_rank(p_priority text)
returns integer
language sql
immutable
parallel safe
as $fn$
select case p_priority
    when 'urgent' then 4
    when 'high' then 3
    when 'medium' then 2
    when 'low' then 1
    else 0
end;
$fn$;

comment on function dispatch._priority_rank(text) is
$doc$Give the priority of a run for an issue of this priority: urgent 4 down to none 0.

Errors: none.$doc$;
-- end sql/30_functions/issues/_priority_rank.sql

-- begin sql/30_functions/issues/_read_assignee.sql
create or replace function dispatch._read_assignee(
    p_name text,
    p_assignee jsonb,
    out assignee_type text,
    out assignee_id uuid
)
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    if p_assignee = 'null' then
        return;
    elsif jsonb_typeof(p_assignee) <> 'object'
        or p_assignee - array['type', 'id'] <> '{}'
        or not p_assignee ?& array['type', 'id']
    then
        perform dispatch._raise(
            'PD400', 'assignee malformed', p_name,
            'give null or an object of type and id.'
        );
    elsif dispatch._is_uuid_text(p_assignee ->> 'id') is not true then
        perform dispatch._raise(
            'PD400', 'assignee malformed', p_name, 'give the id as a uuid.'
        );
    end if;
    assignee_type := p_assignee ->> 'type';
    assignee_id := (p_assignee ->> 'id')::uuid;
    perform dispatch._check_word(p_name, assignee_type, array['agent', 'squad', 'member']);
    perform dispatch._check_ids(array[p_name], array[assignee_id]);
end;
$fn$;

comment on function dispatch._read_assignee(text, jsonb) is
$doc$Read an assignee given as JSON: null for nobody, or an object of type and id and nothing
else.

Errors: PD400 assignee malformed, unknown word or all-zero id, each naming p_name.$doc$;
-- end sql/30_functions/issues/_read_assignee.sql

-- begin sql/30_functions/issues/_read_changes.sql
create or replace function dispatch._read_changes(
    p_changes jsonb,
    out title text,
    out status text,
    out priority text,
    out is_assigned boolean,
    out assignee_type text,
    out assignee_id uuid
)
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_key text;
begin
    if p_changes is null or jsonb_typeof(p_changes) <> 'object' then
        perform dispatch._raise(
            'PD400', 'changes are no object', 'p_changes', 'give a JSON object.'
        );
    end if;
    for v_key in select k.key from jsonb_object_keys(p_changes) as k (key) loop
        case v_key
            when 'title' then
                title := case
                    when jsonb_typeof(p_changes -> 'title') = 'string'
                        then p_changes ->> 'title'
                end;
                perform dispatch._check_text('p_changes.title', title, dispatch.name_limit());
            when 'status' then
                status := p_changes ->> 'status';
                perform dispatch._check_status('p_changes.status', status);
            when 'priority' then
                priority := p_changes ->> 'priority';
                perform dispatch._check_priority('p_changes.priority', priority);
            when 'assignee' then
                select a.assignee_type, a.assignee_id
                into assignee_type, assignee_id
                from dispatch._read_assignee(
                    'p_changes.assignee', p_changes -> 'assignee'
                ) as a;
            else
                perform dispatch._raise(
                    'PD400', 'unknown key', 'p_changes.' || left(v_key, 60), 'remove this key.'
                );
        end case;
    end loop;
    is_assigned := p_changes ? 'assignee';
end;
$fn$;

comment on function dispatch._read_changes(jsonb) is
$doc$Read the changes of an issue: NULL for a field that is not written.

is_assigned tells that the assignee is written; NULL type and id then clear it.
Errors: PD400 no object, unknown key, missing, malformed or too long value.$doc$;
-- end sql/30_functions/issues/_read_changes.sql

-- begin sql/30_functions/issues/_refuse_assignee.sql
create or replace function dispatch._refuse_assignee(
    p_name text,
    p_refusal dispatch.reason_code
)
returns void
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    if p_refusal = 'invocation_not_allowed' then
        perform dispatch._raise(
            'PD403', 'assignee not allowed', p_name, 'name one that the actor may invoke.',
            'invocation_not_allowed'
        );
    elsif p_refusal is not null then
        perform dispatch._raise(
            'PD400', 'assignee not available', p_name, 'name one that is not archived.',
            p_refusal::text
        );
    end if;
end;
$fn$;

comment on function dispatch._refuse_assignee(text, dispatch.reason_code) is
$doc$Raise the error of a refused assignee; NULL passes.

The error is the same for a private, a foreign and a nonexistent assignee.
Errors: PD403 (DETAIL invocation_not_allowed) assignee not allowed, PD400 (DETAIL
target_unavailable) assignee not available.$doc$;
-- end sql/30_functions/issues/_refuse_assignee.sql

-- begin sql/30_functions/issues/_store_changes.sql
-- Only rows that differ are written. The caller holds all of them FOR NO KEY UPDATE, so what is
-- worked out from the rows given is what the update makes of them.
create or replace function dispatch._store_changes(
    p_workspace_id uuid,
    p_issues dispatch.issue[],
    p_title text,
    p_status text,
    p_priority text,
    p_is_assigned boolean,
    p_assignee_type text,
    p_assignee_id uuid,
    p_now timestamptz
)
returns dispatch.issue[]
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_issues dispatch.issue[] := dispatch._apply_changes(
        p_issues, p_title, p_status, p_priority, p_is_assigned, p_assignee_type, p_assignee_id
    );
    v_issue dispatch.issue;
    v_changed uuid[] := '{}'::uuid[];
begin
    for v_i in 1..cardinality(p_issues) loop
        v_issue := v_issues[v_i];
        if v_issue is distinct from p_issues[v_i] then
            v_issue.updated_at := p_now;
            v_issues[v_i] := v_issue;
            v_changed[cardinality(v_changed) + 1] := v_issue.id;
        end if;
    end loop;
    if cardinality(v_changed) > 0 then
        update dispatch.issue as i
        set
            title = coalesce(p_title, i.title),
            status = coalesce(p_status, i.status),
            priority = coalesce(p_priority, i.priority),
            assignee_type = case
                when p_is_assigned then p_assignee_type else i.assignee_type
            end,
            assignee_id = case when p_is_assigned then p_assignee_id else i.assignee_id end,
            assignment_generation = i.assignment_generation + p_is_assigned::integer,
            updated_at = p_now
        where i.workspace_id = p_workspace_id and i.id = any(v_changed);
    end if;
    return v_issues;
end;
$fn$;

comment on function dispatch._store_changes(
    uuid, dispatch.issue[], text, text, text, boolean, text, uuid, timestamptz
) is
$doc$Write changes into locked issues and give the rows after it, in the same order.

A NULL field is not written; p_is_assigned tells that the assignee is. A written assignee counts
as an assignment even when it is the same one: the generation grows. Any other field that is
equal already is no change, and a row without a change keeps its updated_at.
Errors: none.$doc$;
-- end sql/30_functions/issues/_store_changes.sql

-- begin sql/30_functions/issues/_wake_issues.sql
-- The tail of every write to issues. All wakes of a batch go to admission in one call, so that
-- its locks are taken in order and its statements are set-based. A preview goes the same way,
-- so that it cannot say otherwise than the write: only that the predicate asks the invoke gate,
-- but for the assignees that have passed it, and that the wakes are judged, not admitted.
create or replace function dispatch._wake_issues(
    p_workspace_id uuid,
    p_issues dispatch.issue[],
    p_before dispatch.issue[],
    p_is_create boolean,
    p_assignee_changed boolean,
    p_actor_type text,
    p_actor_id uuid,
    p_acting_run_id uuid,
    p_handoff_note text,
    p_suppress_run boolean,
    p_passed_ids uuid[] default null
)
returns dispatch.decision[]
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_decisions dispatch.decision[] := array_fill(
        null::dispatch.decision, array[cardinality(p_issues)]
    );
    v_admitted dispatch.decision[];
    v_wakes dispatch.wake[] := '{}'::dispatch.wake[];
    v_places integer[] := '{}'::integer[];
    v_count integer := 0;
    v_issue dispatch.issue;
    v_before dispatch.issue;
    v_will record;
begin
    for v_i in 1..cardinality(p_issues) loop
        v_issue := p_issues[v_i];
        v_before := p_before[v_i];
        select w.will_run, w.agent_id, w.squad_id, w.source, w.why
        into v_will
        from dispatch.will_enqueue_run(
            p_workspace_id, v_issue, v_before.status, p_is_create, p_assignee_changed,
            v_issue.status is distinct from v_before.status, p_actor_type, p_actor_id,
            p_acting_run_id, coalesce(not v_issue.assignee_id = any(p_passed_ids), false)
        ) as w;
        if v_will.will_run and not p_suppress_run then
            v_count := v_count + 1;
            v_places[v_count] := v_i;
            v_wakes[v_count] := dispatch._issue_wake(
                v_issue, v_will.agent_id, v_will.squad_id, v_will.source, p_actor_type,
                p_actor_id, p_acting_run_id, p_handoff_note
            );
        else
            v_decisions[v_i] := row(
                'none', 'not_triggered', null, null, null,
                jsonb_build_object('why', coalesce(v_will.why, 'suppressed'))
            )::dispatch.decision;
        end if;
    end loop;
    if v_count > 0 then
        if p_passed_ids is not null then
            v_admitted := dispatch._preview_wakes(p_workspace_id, v_wakes);
        else
            v_admitted := array(
                select d from dispatch._admit_wakes(p_workspace_id, v_wakes) as d
            );
        end if;
        for v_i in 1..v_count loop
            v_decisions[v_places[v_i]] := v_admitted[v_i];
        end loop;
    end if;
    return v_decisions;
end;
$fn$;

comment on function dispatch._wake_issues(
    uuid, dispatch.issue[], dispatch.issue[], boolean, boolean, text, uuid, uuid, text,
    boolean, uuid[]
) is
$doc$Ask the predicate about each written issue and take the wakes through admission.

p_issues are the rows after the write, p_before the same rows before it, NULLs for a creation.
Returns one decision an issue in the same order: none with the predicate's word (suppressed when
only p_suppress_run keeps the run from starting), or what admission decided. p_passed_ids given:
a preview, which answers with what it would decide and writes nothing; the ids are those of
assignees that the actor is known to be allowed.
Errors: as _admit_wakes.$doc$;
-- end sql/30_functions/issues/_wake_issues.sql

-- begin sql/30_functions/issues/_write_issues.sql
-- Locks: issues FOR NO KEY UPDATE by id, then what admission locks (agents, runs). The instant
-- is read once, after the issues' locks. The plans are generic: with an array in hand the
-- planner would think a new plan cheaper on every call, and spend more on it than on the work.
create or replace function dispatch._write_issues(
    p_workspace_id uuid,
    p_issue_ids uuid[],
    p_changes jsonb,
    p_actor_type text,
    p_actor_id uuid,
    p_acting_run_id uuid,
    p_handoff_note text,
    p_suppress_run boolean,
    p_is_batch boolean
)
returns dispatch.issue_write[]
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $fn$
declare
    v_title text;
    v_status text;
    v_priority text;
    v_is_assigned boolean;
    v_assignee_type text;
    v_assignee uuid;
    v_prefix text;
    v_originator uuid;
    v_refusal dispatch.reason_code;
    v_old dispatch.issue[];
    v_new dispatch.issue[];
    v_decisions dispatch.decision[];
    v_answers dispatch.issue_write[] := '{}'::dispatch.issue_write[];
begin
    select c.title, c.status, c.priority, c.is_assigned, c.assignee_type, c.assignee_id
    into v_title, v_status, v_priority, v_is_assigned, v_assignee_type, v_assignee
    from dispatch._read_changes(p_changes) as c;
    perform dispatch._check_run_options(p_handoff_note, p_suppress_run);
    v_prefix := dispatch._issue_prefix(p_workspace_id);
    v_originator := dispatch._resolve_actor(
        p_workspace_id, p_actor_type, p_actor_id, p_acting_run_id
    );
    v_old := array(
        select i
        from dispatch.issue as i
        where i.workspace_id = p_workspace_id and i.id = any(p_issue_ids)
        order by i.id
        for no key update
    );
    if not p_is_batch and cardinality(v_old) = 0 then
        perform dispatch._raise(
            'PD404', 'issue not found', 'p_issue_id', 'name an issue of the workspace.'
        );
    end if;
    if v_is_assigned then
        v_refusal := dispatch._assignee_refusal(
            p_workspace_id, 'p_changes.assignee', v_assignee_type, v_assignee, p_actor_type,
            v_originator
        );
    end if;

    if v_refusal is null then
        v_new := dispatch._store_changes(
            p_workspace_id, v_old, v_title, v_status, v_priority, v_is_assigned,
            v_assignee_type, v_assignee, dispatch.clock()
        );
        v_decisions := dispatch._wake_issues(
            p_workspace_id, v_new, v_old, false, v_is_assigned, p_actor_type, p_actor_id,
            p_acting_run_id, p_handoff_note, p_suppress_run
        );
    elsif p_is_batch then
        v_new := v_old;
        v_decisions := array_fill(
            row('blocked', v_refusal, null, null, null, null)::dispatch.decision,
            array[cardinality(v_old)]
        );
    else
        perform dispatch._refuse_assignee('p_changes.assignee', v_refusal);
    end if;
    for v_i in 1..cardinality(v_new) loop
        v_answers[v_i] := dispatch._issue_answer(v_prefix, v_new[v_i], v_decisions[v_i]);
    end loop;
    return v_answers;
end;
$fn$;

comment on function dispatch._write_issues(
    uuid, uuid[], jsonb, text, uuid, uuid, text, boolean, boolean
) is
$doc$Write the same changes into issues, and wake whom the writes start: one answer a known id,
by id.

A refused assignee leaves the issues as they are: in a batch it is each answer's blocked, else
an error, as is an unknown id. Unknown ids of a batch have no answer.
Errors: PD400 malformed changes, missing or too long argument, wrong actor, assignee no member
or (DETAIL target_unavailable) archived; PD403 wrong actor, or assignee not allowed (DETAIL
invocation_not_allowed); PD404 workspace or issue not found; PD409 pending slot contended.$doc$;
-- end sql/30_functions/issues/_write_issues.sql

-- begin sql/30_functions/issues/create_issue.sql
-- Locks: the workspace's counter, the parent, then what admission locks (agents, runs).
-- Whatever can refuse the call is asked before the counter, for which all creators of the
-- workspace queue.
create or replace function dispatch.create_issue(
    p_workspace_id uuid,
    p_title text,
    p_actor_type text,
    p_actor_id uuid default null,
    p_acting_run_id uuid default null,
    p_status text default 'todo',
    p_priority text default 'none',
    p_assignee_type text default null,
    p_assignee_id uuid default null,
    p_issue_id uuid default null,
    p_handoff_note text default null,
    p_suppress_run boolean default false,
    p_parent_id uuid default null,
    p_stage integer default null
)
returns dispatch.issue_write
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_prefix constant text := dispatch._issue_prefix(p_workspace_id);
    v_originator uuid;
    v_issue dispatch.issue;
    v_decisions dispatch.decision[];
begin
    perform dispatch._check_new_issue(
        p_title, p_status, p_priority, p_assignee_type, p_assignee_id, p_issue_id, p_parent_id,
        p_stage
    );
    perform dispatch._check_run_options(p_handoff_note, p_suppress_run);
    v_originator := dispatch._resolve_actor(
        p_workspace_id, p_actor_type, p_actor_id, p_acting_run_id
    );
    perform dispatch._refuse_assignee('p_assignee_id', dispatch._assignee_refusal(
        p_workspace_id, 'p_assignee_id', p_assignee_type, p_assignee_id, p_actor_type,
        v_originator
    ));
    v_issue.workspace_id := p_workspace_id;
    v_issue.id := coalesce(p_issue_id, dispatch._uuid_v7(dispatch._uuid_tick()));
    v_issue.title := p_title;
    v_issue.status := p_status;
    v_issue.priority := p_priority;
    v_issue.assignee_type := p_assignee_type;
    v_issue.assignee_id := p_assignee_id;
    v_issue.assignment_generation := num_nonnulls(p_assignee_id)::bigint;
    v_issue.creator_type := p_actor_type;
    v_issue.creator_id := p_actor_id;
    v_issue.origin_type := case when p_acting_run_id is not null then 'agent_create' end;
    v_issue.origin_id := p_acting_run_id;
    v_issue.parent_id := p_parent_id;
    v_issue.stage := p_stage;
    v_issue := dispatch._insert_issue(p_workspace_id, v_issue);
    v_decisions := dispatch._wake_issues(
        p_workspace_id, array[v_issue], array[null::dispatch.issue], true,
        p_assignee_id is not null, p_actor_type, p_actor_id, p_acting_run_id, p_handoff_note,
        p_suppress_run
    );
    return dispatch._issue_answer(v_prefix, v_issue, v_decisions[1]);
end;
$fn$;

comment on function dispatch.create_issue(
    uuid, text, text, uuid, uuid, text, text, text, uuid, uuid, text, boolean, uuid, integer
) is
$doc$Create an issue and, when it has an agent or a squad as assignee, start that one's run.

p_title: at most 200 bytes. p_status: backlog, which starts nothing, todo, in_progress,
in_review, blocked, done or cancelled. p_priority: urgent, high, medium, low or none.
p_assignee_type: agent, squad or member, with p_assignee_id. p_issue_id: an id of the caller's,
else one is minted. p_handoff_note: at most 1 MiB, kept only if a run starts. p_suppress_run:
write only. p_parent_id and p_stage place the issue under another and among its siblings.
Answers with the identifier, the assignment generation (1 with an assignee, else 0) and what
became of the wake; none/not_triggered carries the predicate's word as "why" in detail. When
admission refuses the wake, the issue stands. An issue that an agent creates in a run names it
as its origin. Rule: issue-to-run 3.
Errors: PD400 missing, malformed or unknown argument, assignee no member or (DETAIL
target_unavailable) archived; PD403 wrong actor, or assignee not allowed (DETAIL
invocation_not_allowed); PD404 workspace or parent not found; PD409 issue id taken, or pending
slot contended.$doc$;
-- end sql/30_functions/issues/create_issue.sql

-- begin sql/30_functions/issues/delete_issue.sql
-- Locks: the issue and its children FOR UPDATE by id, its runs' agents, then its runs by id. No
-- enqueue for the issue can come in between: it would hold the issue by a key.
create or replace function dispatch.delete_issue(
    p_workspace_id uuid,
    p_issue_id uuid,
    p_actor_type text,
    p_actor_id uuid default null,
    p_acting_run_id uuid default null
)
returns integer
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $fn$
declare
    v_locked uuid[];
    v_runs uuid[];
    v_cancelled integer;
    v_now timestamptz;
begin
    perform dispatch._require_workspace(p_workspace_id);
    perform dispatch._check_ids(array['p_issue_id'], array[p_issue_id]);
    perform dispatch._resolve_actor(p_workspace_id, p_actor_type, p_actor_id, p_acting_run_id);
    v_locked := array(
        select i.id
        from dispatch.issue as i
        where i.workspace_id = p_workspace_id
            and (i.id = p_issue_id or i.parent_id = p_issue_id)
        order by i.id
        for update
    );
    if not p_issue_id = any(v_locked) then
        perform dispatch._raise(
            'PD404', 'issue not found', 'p_issue_id', 'name an issue of the workspace.'
        );
    end if;
    v_runs := array(
        select d.run_id
        from dispatch.run_detail as d
        where d.workspace_id = p_workspace_id and d.issue_id = p_issue_id
        order by d.run_id
    );
    -- A run written twice in one transaction checks its foreign keys: its agent first.
    perform dispatch._lock_run_owners(p_workspace_id, v_runs);
    v_now := dispatch.clock();
    v_cancelled := dispatch._cancel_runs(p_workspace_id, v_runs, 'issue deleted', v_now);

    update dispatch.run as r
    set issue_id = null
    where r.workspace_id = p_workspace_id and r.id = any(v_runs);
    update dispatch.run_detail as d
    set issue_id = null
    where d.workspace_id = p_workspace_id and d.run_id = any(v_runs);
    update dispatch.issue as i
    set parent_id = null
    where i.workspace_id = p_workspace_id and i.parent_id = p_issue_id;
    delete from dispatch.issue as i
    where i.workspace_id = p_workspace_id and i.id = p_issue_id;
    return v_cancelled;
end;
$fn$;

comment on function dispatch.delete_issue(uuid, uuid, text, uuid, uuid) is
$doc$Delete an issue with its comments, and give the number of its runs that this cancels.

Every run of it that has not ended is cancelled, deferred ones too. All its runs stay, without
their issue; its children lose their parent. Rule: issue-to-run 3.
Errors: PD400 missing or all-zero argument; PD403 wrong actor; PD404 workspace or issue not
found.$doc$;
-- end sql/30_functions/issues/delete_issue.sql

-- begin sql/30_functions/issues/preview_create.sql
-- Locks nothing. The candidate issue has an id that nobody else has, so that no key, no slot
-- and no allowance is taken yet.
create or replace function dispatch.preview_create(
    p_workspace_id uuid,
    p_changes jsonb,
    p_actor_type text,
    p_actor_id uuid default null,
    p_acting_run_id uuid default null
)
returns setof dispatch.preview
language plpgsql
volatile
parallel unsafe
rows 1
security definer
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_change record;
    v_originator uuid;
    v_refusal dispatch.reason_code;
    v_issue dispatch.issue;
    v_decisions dispatch.decision[];
begin
    perform dispatch._check_ids(array['p_workspace_id'], array[p_workspace_id]);
    select c.status, c.priority, c.assignee_type, c.assignee_id
    into v_change
    from dispatch._read_changes(p_changes) as c;
    perform dispatch._require_workspace(p_workspace_id);
    v_originator := dispatch._resolve_actor(
        p_workspace_id, p_actor_type, p_actor_id, p_acting_run_id
    );
    v_refusal := dispatch._assignee_refusal(
        p_workspace_id, 'p_changes.assignee', v_change.assignee_type, v_change.assignee_id,
        p_actor_type, v_originator
    );
    if v_refusal is not null then
        v_decisions := array[
            row('blocked', v_refusal, null, null, null, null)::dispatch.decision
        ];
    else
        v_issue.workspace_id := p_workspace_id;
        v_issue.id := dispatch._uuid_v7(dispatch._uuid_tick());
        v_issue.status := coalesce(v_change.status, 'todo');
        v_issue.priority := coalesce(v_change.priority, 'none');
        v_issue.assignee_type := v_change.assignee_type;
        v_issue.assignee_id := v_change.assignee_id;
        v_issue.assignment_generation := num_nonnulls(v_change.assignee_id)::bigint;
        v_decisions := dispatch._wake_issues(
            p_workspace_id, array[v_issue], array[null::dispatch.issue], true,
            v_change.assignee_id is not null, p_actor_type, p_actor_id, p_acting_run_id, null,
            false, array[v_change.assignee_id]
        );
    end if;
    return query
    select
        r.issue_id, r.agent_id, r.source, r.will_run, r.outcome, r.reason_code, r.detail
    from dispatch._preview_rows(array[null::uuid], v_decisions) as r;
end;
$fn$;

comment on function dispatch.preview_create(uuid, jsonb, text, uuid, uuid) is
$doc$Tell what creating an issue would start, and write nothing: one row, without an issue id.

p_changes: the issue to be, an object with any of title, status (todo when left out), priority
(none) and assignee, as update_issue has it. outcome and reason_code are what create_issue would
answer, over all gates; will_run is outcome = queued. An assignee that create_issue would refuse
is blocked (invocation_not_allowed or target_unavailable), and no agent is named. Rule:
issue-to-run 3.
Errors: PD400 malformed argument, assignee no member; PD403 wrong actor; PD404 workspace not
found.$doc$;
-- end sql/30_functions/issues/preview_create.sql

-- begin sql/30_functions/issues/preview_update.sql
-- Locks nothing: what other sessions write meanwhile may still change the answer. The plans are
-- generic, as those of the write.
create or replace function dispatch.preview_update(
    p_workspace_id uuid,
    p_issue_ids uuid[],
    p_changes jsonb,
    p_actor_type text,
    p_actor_id uuid default null,
    p_acting_run_id uuid default null
)
returns setof dispatch.preview
language plpgsql
volatile
parallel unsafe
rows 10
security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $fn$
declare
    v_change record;
    v_originator uuid;
    v_refusal dispatch.reason_code;
    v_old dispatch.issue[];
    v_passed uuid[];
    v_decisions dispatch.decision[];
begin
    perform dispatch._check_ids(array['p_workspace_id'], array[p_workspace_id]);
    if p_issue_ids is null or array_position(p_issue_ids, null) is not null then
        perform dispatch._raise(
            'PD400', 'argument missing', 'p_issue_ids', 'give ids, none of them NULL.'
        );
    elsif cardinality(p_issue_ids) > dispatch.preview_limit() then
        perform dispatch._raise(
            'PD400', 'preview too long', 'p_issue_ids',
            format('at most %s ids.', dispatch.preview_limit())
        );
    end if;
    select c.title, c.status, c.priority, c.is_assigned, c.assignee_type, c.assignee_id
    into v_change
    from dispatch._read_changes(p_changes) as c;
    perform dispatch._require_workspace(p_workspace_id);
    v_originator := dispatch._resolve_actor(
        p_workspace_id, p_actor_type, p_actor_id, p_acting_run_id
    );
    if v_change.is_assigned then
        v_refusal := dispatch._assignee_refusal(
            p_workspace_id, 'p_changes.assignee', v_change.assignee_type, v_change.assignee_id,
            p_actor_type, v_originator
        );
    end if;
    v_old := array(
        select i
        from (
            select u.id, min(u.place) as place
            from unnest(p_issue_ids) with ordinality as u (id, place)
            group by u.id
        ) as g
        inner join dispatch.issue as i on i.workspace_id = p_workspace_id and i.id = g.id
        where i.workspace_id = p_workspace_id
        order by g.place
    );
    if v_refusal is not null then
        v_decisions := array_fill(
            row('blocked', v_refusal, null, null, null, null)::dispatch.decision,
            array[cardinality(v_old)]
        );
    else
        v_passed := case
            when v_change.is_assigned then array[v_change.assignee_id]
            else dispatch._passed_assignees(
                p_workspace_id, v_old, p_actor_type, v_originator
            )
        end;
        v_decisions := dispatch._wake_issues(
            p_workspace_id,
            dispatch._apply_changes(
                v_old, v_change.title, v_change.status, v_change.priority,
                v_change.is_assigned, v_change.assignee_type, v_change.assignee_id
            ),
            v_old, false, v_change.is_assigned, p_actor_type, p_actor_id, p_acting_run_id,
            null, false, v_passed
        );
    end if;
    return query
    select
        r.issue_id, r.agent_id, r.source, r.will_run, r.outcome, r.reason_code, r.detail
    from dispatch._preview_rows(
        array(select o.id from unnest(v_old) with ordinality as o order by o.ordinality),
        v_decisions
    ) as r;
end;
$fn$;

comment on function dispatch.preview_update(uuid, uuid[], jsonb, text, uuid, uuid) is
$doc$Tell what a change of issues would start, and write nothing: one row for each distinct id
that is found, in the order given.

p_issue_ids: at most 500; unknown and foreign ids have no row. p_changes: as update_issue has
them. outcome and reason_code are what the write would answer, over all gates; will_run is
outcome = queued. A promotion of an agent that the actor may not invoke is none/not_triggered
with "why": "not_invocable". An assignee that the write would refuse is blocked in each row
(invocation_not_allowed or target_unavailable), and no agent is named. Rule: issue-to-run 3.
Errors: PD400 malformed argument, more than 500 ids, assignee no member; PD403 wrong actor;
PD404 workspace not found.$doc$;
-- end sql/30_functions/issues/preview_update.sql

-- begin sql/30_functions/issues/update_issue.sql
-- Locks: the issue, then what admission locks (agents, runs).
create or replace function dispatch.update_issue(
    p_workspace_id uuid,
    p_issue_id uuid,
    p_changes jsonb,
    p_actor_type text,
    p_actor_id uuid default null,
    p_acting_run_id uuid default null,
    p_handoff_note text default null,
    p_suppress_run boolean default false
)
returns dispatch.issue_write
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_writes dispatch.issue_write[];
begin
    perform dispatch._check_ids(
        array['p_workspace_id', 'p_issue_id'], array[p_workspace_id, p_issue_id]
    );
    v_writes := dispatch._write_issues(
        p_workspace_id, array[p_issue_id], p_changes, p_actor_type, p_actor_id, p_acting_run_id,
        p_handoff_note, p_suppress_run, false
    );
    return v_writes[1];
end;
$fn$;

comment on function dispatch.update_issue(
    uuid, uuid, jsonb, text, uuid, uuid, text, boolean
) is
$doc$Change an issue and start the run that the change asks for.

p_changes: an object with any of title, status, priority and assignee, the last null or an
object of type (agent, squad, member) and id; an empty object changes nothing. A written
assignee is an assignment even when it is the same one: the generation grows by one, also when
it is cleared. Other fields that are equal already are no change. p_handoff_note: at most 1 MiB,
kept only if a run starts. p_suppress_run: write only. No change of an issue cancels a run.
Answers with what became of the wake; none/not_triggered carries the predicate's word as "why"
in detail. When admission refuses the wake, the change stands. Rule: issue-to-run 3.
Errors: PD400 malformed argument, COLUMN p_changes.KEY for one of the changes, assignee no
member or (DETAIL target_unavailable) archived; PD403 wrong actor, or assignee not allowed
(DETAIL invocation_not_allowed); PD404 workspace or issue not found; PD409 pending slot
contended.$doc$;
-- end sql/30_functions/issues/update_issue.sql

-- begin sql/30_functions/issues/update_issues.sql
-- Locks: the issues by id, then what admission locks (agents, runs). An id that is named twice
-- is written once.
create or replace function dispatch.update_issues(
    p_workspace_id uuid,
    p_issue_ids uuid[],
    p_changes jsonb,
    p_actor_type text,
    p_actor_id uuid default null,
    p_acting_run_id uuid default null,
    p_handoff_note text default null,
    p_suppress_run boolean default false
)
returns setof dispatch.issue_write
language plpgsql
volatile
parallel unsafe
rows 10
security definer
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_writes dispatch.issue_write[];
begin
    perform dispatch._check_ids(array['p_workspace_id'], array[p_workspace_id]);
    if p_issue_ids is null or array_position(p_issue_ids, null) is not null then
        perform dispatch._raise(
            'PD400', 'argument missing', 'p_issue_ids', 'give ids, none of them NULL.'
        );
    elsif cardinality(p_issue_ids) > dispatch.batch_limit() then
        perform dispatch._raise(
            'PD400', 'batch too long', 'p_issue_ids',
            format('at most %s ids.', dispatch.batch_limit())
        );
    end if;
    v_writes := dispatch._write_issues(
        p_workspace_id, p_issue_ids, p_changes, p_actor_type, p_actor_id, p_acting_run_id,
        p_handoff_note, p_suppress_run, true
    );
    return query
    select
        g.id, w.identifier, w.assignment_generation,
        coalesce(w.outcome, 'none'), coalesce(w.reason_code, 'not_triggered'),
        w.run_id, w.agent_id, w.source, w.detail
    from unnest(p_issue_ids) with ordinality as g (id, place)
    left join unnest(v_writes) as w on w.issue_id = g.id
    order by g.place;
end;
$fn$;

comment on function dispatch.update_issues(
    uuid, uuid[], jsonb, text, uuid, uuid, text, boolean
) is
$doc$Make the same change to many issues: one row an id, in the order given.

p_issue_ids: at most 1000; an id that is named twice is written once and its row repeated. The
other arguments are those of update_issue. A refused assignee is blocked in each row
(invocation_not_allowed or target_unavailable) and no issue is changed. Unknown and foreign ids
are none/not_triggered with nothing else. Rule: issue-to-run 3.
Errors: PD400 malformed argument, more than 1000 ids, assignee no member; PD403 wrong actor;
PD404 workspace not found; PD409 pending slot contended.$doc$;
-- end sql/30_functions/issues/update_issues.sql

-- begin sql/30_functions/lifecycle/_answer_reports.sql
-- Where every report moved its run, which is nearly always so, all but the follow-up is known.
create or replace function dispatch._answer_reports(
    p_workspace_id uuid,
    p_reports dispatch._report[],
    p_moved uuid[],
    p_status dispatch.run_status,
    p_repeated dispatch.run_status
)
returns dispatch.transition[]
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_report dispatch._report;
    v_follow_up uuid;
    v_answers dispatch.transition[] := '{}'::dispatch.transition[];
begin
    if cardinality(p_moved) < cardinality(p_reports) then
        return array(
            select t
            from dispatch._transitions(p_workspace_id, p_reports, p_moved, p_repeated) as t
        );
    end if;
    foreach v_report in array p_reports loop
        select d.follow_up_run_id
        into v_follow_up
        from dispatch.run_detail as d
        where d.workspace_id = p_workspace_id and d.run_id = v_report.run_id;
        v_answers := v_answers || row(
            true, v_report.run_id, p_status, v_report.claim_no, null, null, v_follow_up
        )::dispatch.transition;
    end loop;
    return v_answers;
end;
$fn$;

comment on function dispatch._answer_reports(
    uuid, dispatch._report[], uuid[], dispatch.run_status, dispatch.run_status
) is
$doc$Answer reports of a start or a completion after the write, in the order given.

p_moved are the runs that this call moved to p_status; p_repeated as in _transitions.
Errors: none.$doc$;
-- end sql/30_functions/lifecycle/_answer_reports.sql

-- begin sql/30_functions/lifecycle/_cancel_runs.sql
-- Locks: run rows by id. The caller has made sure, by a lock on the agent or the issue, that no
-- further run joins those that it names. The plan settings hold for everything that this
-- function calls: a plan made while the tables are empty is kept, and must walk the same
-- indexes as one made over a million rows.
create or replace function dispatch._cancel_runs(
    p_workspace_id uuid,
    p_run_ids uuid[],
    p_reason text,
    p_now timestamptz
)
returns integer
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_material = off
set jit = off
as $fn$
declare
    v_run record;
    v_runtimes uuid[];
    v_count integer := 0;
begin
    for v_run in
        select k.id, k.runtime_id, k.is_active
        from (select distinct u.id from unnest(p_run_ids) as u (id) order by u.id) as i
        cross join lateral (
            select
                r.id, r.runtime_id,
                r.status in ('dispatched', 'waiting_local_directory', 'running') as is_active
            from dispatch.run as r
            where r.workspace_id = p_workspace_id
                and r.id = i.id
                and r.status not in ('completed', 'failed', 'cancelled')
            limit 1
            for no key update
        ) as k
    loop
        update dispatch.run as r
        set status = 'cancelled', finished_at = p_now, lease_expires_at = null
        where r.workspace_id = p_workspace_id and r.id = v_run.id;
        update dispatch.run_detail as d
        set error = dispatch._cut_text(p_reason, dispatch.error_limit())
        where d.workspace_id = p_workspace_id
            and d.run_id = v_run.id
            and p_reason is not null;
        -- A run that held a lane or a unit of capacity may let another one be claimed.
        if v_run.is_active then
            v_runtimes := v_runtimes || v_run.runtime_id;
        end if;
        v_count := v_count + 1;
    end loop;
    perform dispatch._notify_runtimes(array(select distinct u from unnest(v_runtimes) as u));
    return v_count;
end;
$fn$;

comment on function dispatch._cancel_runs(uuid, uuid[], text, timestamptz) is
$doc$Cancel those of the runs that are not terminal and return how many; p_reason is kept as
error.

What was recorded on a run is cancelled with it.
Errors: none.$doc$;
-- end sql/30_functions/lifecycle/_cancel_runs.sql

-- begin sql/30_functions/lifecycle/_check_outcome.sql
create or replace function dispatch._check_outcome(
    p_result jsonb,
    p_failure_reason text,
    p_session_lost boolean
)
returns void
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    if octet_length(p_result::text) > dispatch.document_limit() then
        perform dispatch._raise(
            'PD400', 'document too long', 'p_result', 'at most 1048576 bytes of JSON text.'
        );
    elsif octet_length(p_failure_reason) > dispatch.reason_limit() then
        perform dispatch._raise(
            'PD400', 'text too long', 'p_failure_reason', 'at most 100 bytes.'
        );
    elsif p_session_lost is null then
        perform dispatch._raise(
            'PD400', 'argument missing', 'p_session_lost', 'true or false.'
        );
    end if;
end;
$fn$;

comment on function dispatch._check_outcome(jsonb, text, boolean) is
$doc$Refuse a result or failure reason that is too long, and an unsaid p_session_lost.

Errors: PD400 document or text too long, argument missing.$doc$;
-- end sql/30_functions/lifecycle/_check_outcome.sql

-- begin sql/30_functions/lifecycle/_check_report.sql
create or replace function dispatch._check_report(
    p_workspace_id uuid,
    p_run_id uuid,
    p_claim_no integer
)
returns void
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    if num_nulls(p_workspace_id, p_run_id, p_claim_no) = 0
        and '00000000-0000-0000-0000-000000000000' not in (p_workspace_id, p_run_id)
    then
        return;
    end if;
    perform dispatch._check_ids(
        array['p_workspace_id', 'p_run_id'], array[p_workspace_id, p_run_id]
    );
    if p_claim_no is null then
        perform dispatch._raise(
            'PD400', 'argument missing', 'p_claim_no',
            'give the number that the claim returned.'
        );
    end if;
end;
$fn$;

comment on function dispatch._check_report(uuid, uuid, integer) is
$doc$Refuse a daemon's report that does not say about which claim of which run it is.

Errors: PD400 argument missing or all-zero id.$doc$;
-- end sql/30_functions/lifecycle/_check_report.sql

-- begin sql/30_functions/lifecycle/_complete_runs.sql
-- Locks: issues and agents of runs that owe wakes, then run rows by id. Only a run that was
-- claimed and started in one step can still owe any here: those that its claim had no room for.
-- The plan settings hold for everything that this function calls: a plan made while the tables
-- are empty is kept, and must walk the same indexes as one made over a million rows.
create or replace function dispatch._complete_runs(
    p_workspace_id uuid,
    p_reports dispatch._report[]
)
returns dispatch.transition[]
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_material = off
set jit = off
as $fn$
declare
    v_owing uuid[];
    v_locked uuid[];
    v_runtimes uuid[];
begin
    v_owing := dispatch._lock_owing(
        p_workspace_id, array(select p.run_id from unnest(p_reports) as p)
    );
    v_locked := dispatch._lock_runs(p_workspace_id, p_reports, '{running}');
    if cardinality(v_locked) > 0 then
        v_runtimes := dispatch._move_runs(
            p_workspace_id, v_locked, 'completed', false, null, dispatch.clock()
        );
        perform dispatch._keep_results(p_workspace_id, p_reports, v_locked);
        perform dispatch._notify_runtimes(v_runtimes);
        if cardinality(v_owing) > 0 then
            perform dispatch._settle_owed(p_workspace_id, v_locked);
        end if;
    end if;
    return dispatch._answer_reports(
        p_workspace_id, p_reports, v_locked, 'completed', 'completed'
    );
end;
$fn$;

comment on function dispatch._complete_runs(uuid, dispatch._report[]) is
$doc$Move running runs to completed and keep what they reported.

A run without result, session and work directory writes no detail. Returns a transition a
report, in the order given.
Errors: none.$doc$;
-- end sql/30_functions/lifecycle/_complete_runs.sql

-- begin sql/30_functions/lifecycle/_fail_runs.sql
-- Locks: the runs' issues and agents first, for the retries and follow-ups, then run rows by
-- id. The plan settings hold for everything that this function calls: a plan made while the
-- tables are empty is kept, and must walk the same indexes as one made over a million rows.
create or replace function dispatch._fail_runs(
    p_workspace_id uuid,
    p_reports dispatch._report[],
    p_statuses dispatch.run_status[] default '{dispatched,waiting_local_directory,running}'
)
returns setof dispatch.transition
language plpgsql
volatile
parallel unsafe
rows 10
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_material = off
set jit = off
as $fn$
declare
    v_locked uuid[];
    v_report record;
    v_runtime uuid;
    v_runtimes uuid[];
    v_was_claimed boolean;
    v_now timestamptz;
begin
    perform dispatch._lock_run_owners(
        p_workspace_id, array(select p.run_id from unnest(p_reports) as p)
    );
    v_locked := dispatch._lock_runs(p_workspace_id, p_reports, p_statuses);
    v_now := dispatch.clock();
    for v_report in
        select
            p.run_id, p.claim_no, p.failure_reason, p.error, p.session_id, p.work_dir,
            p.session_lost
        from dispatch._first_reports(p_reports) as p
        where p.run_id = any(v_locked)
    loop
        update dispatch.run as r
        set status = 'failed', finished_at = v_now, lease_expires_at = null
        where r.workspace_id = p_workspace_id
            and r.id = v_report.run_id
            and r.claim_no = v_report.claim_no
        returning r.runtime_id, r.dispatched_at is not null into v_runtime, v_was_claimed;
        continue when not found;
        v_runtimes := v_runtimes || v_runtime;
        update dispatch.run_detail as d
        set
            failure_reason = coalesce(v_report.failure_reason, 'agent_error'),
            error = dispatch._cut_text(v_report.error, dispatch.error_limit()),
            session_id = case
                when not v_report.session_lost then coalesce(v_report.session_id, d.session_id)
            end,
            work_dir = coalesce(v_report.work_dir, d.work_dir)
        where d.workspace_id = p_workspace_id and d.run_id = v_report.run_id;
        -- A run that nobody had in hand owes nothing: what it stood for ends with it.
        if not dispatch._queue_retry(p_workspace_id, v_report.run_id, v_now) and v_was_claimed
        then
            perform dispatch._settle_owed(p_workspace_id, array[v_report.run_id]);
        end if;
    end loop;
    perform dispatch._notify_runtimes(array(select distinct u from unnest(v_runtimes) as u));
    return query
    select
        t.applied, t.run_id, t.status, t.claim_no, t.retry_run_id, t.reason, t.follow_up_run_id
    from dispatch._transitions(p_workspace_id, p_reports, v_locked, 'failed') as t;
end;
$fn$;

comment on function dispatch._fail_runs(
    uuid, dispatch._report[], dispatch.run_status[]
) is
$doc$Move runs in one of p_statuses (left out: active ones) to failed, keep why, and queue their
retries, or follow-ups for what they owe.

A run that fails in the queue, or before its time, takes its wakes with it, as a cancelled one.
Returns a transition a report, in the order given.
Errors: as _admit_wakes.$doc$;
-- end sql/30_functions/lifecycle/_fail_runs.sql

-- begin sql/30_functions/lifecycle/_first_reports.sql
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
-- end sql/30_functions/lifecycle/_first_reports.sql

-- begin sql/30_functions/lifecycle/_keep_results.sql
-- Looks before it writes, since most runs report nothing to keep and an update that meets no
-- row costs as much to set up as one that does.
create or replace function dispatch._keep_results(
    p_workspace_id uuid,
    p_reports dispatch._report[],
    p_moved uuid[]
)
returns void
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_report record;
begin
    for v_report in
        select p.run_id, p.result, p.session_id, p.work_dir, p.session_lost
        from dispatch._first_reports(p_reports) as p
        cross join lateral (
            select d.session_id, d.work_dir
            from dispatch.run_detail as d
            where d.workspace_id = p_workspace_id and d.run_id = p.run_id
            limit 1
        ) as d
        where p.run_id = any(p_moved)
            and num_nonnulls(
                p.result, p.session_id, p.work_dir, d.session_id, d.work_dir
            ) > 0
            and exists (
                select
                from dispatch.run as r
                where r.workspace_id = p_workspace_id
                    and r.id = p.run_id
                    and r.claim_no = p.claim_no
            )
    loop
        update dispatch.run_detail as d
        set
            result = v_report.result,
            session_id = case when not v_report.session_lost then v_report.session_id end,
            work_dir = v_report.work_dir
        where d.workspace_id = p_workspace_id and d.run_id = v_report.run_id;
    end loop;
end;
$fn$;

comment on function dispatch._keep_results(uuid, dispatch._report[], uuid[]) is
$doc$Keep what the reports of these completed runs bring: of several reports about one claim the
first.

A run without result, session and work directory, before and after, writes nothing.
Errors: none.$doc$;
-- end sql/30_functions/lifecycle/_keep_results.sql

-- begin sql/30_functions/lifecycle/_lock_run.sql
-- Locks: one run row FOR NO KEY UPDATE, before the instant is read, so that no expiry is judged
-- by a time from before the wait.
create or replace function dispatch._lock_run(p_workspace_id uuid, p_run_id uuid)
returns void
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    perform
    from dispatch.run as r
    where r.workspace_id = p_workspace_id and r.id = p_run_id
    for no key update;
end;
$fn$;

comment on function dispatch._lock_run(uuid, uuid) is
$doc$Hold a run's row until the transaction ends; nothing happens when there is none.

Errors: none.$doc$;
-- end sql/30_functions/lifecycle/_lock_run.sql

-- begin sql/30_functions/lifecycle/_lock_runs.sql
-- Locks: run rows FOR NO KEY UPDATE by id, so that two batches over the same runs wait and
-- never deadlock. A row that passed the test under its lock keeps passing it until the
-- transaction ends.
create or replace function dispatch._lock_runs(
    p_workspace_id uuid,
    p_reports dispatch._report[],
    p_statuses dispatch.run_status[]
)
returns uuid[]
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_report dispatch._report;
begin
    if cardinality(p_reports) = 1 then
        v_report := p_reports[1];
        perform
        from dispatch.run as r
        where r.workspace_id = p_workspace_id
            and r.id = v_report.run_id
            and r.claim_no = v_report.claim_no
            and r.status = any(p_statuses)
        for no key update;
        return case when found then array[v_report.run_id] else '{}'::uuid[] end;
    end if;
    return array(
        select r.id
        from (
            select p.run_id, p.claim_no
            from dispatch._first_reports(p_reports) as p
            order by p.run_id
        ) as p
        cross join lateral (
            select s.id
            from dispatch.run as s
            where s.workspace_id = p_workspace_id
                and s.id = p.run_id
                and s.claim_no = p.claim_no
                and s.status = any(p_statuses)
            limit 1
            for no key update
        ) as r
    );
end;
$fn$;

comment on function dispatch._lock_runs(uuid, dispatch._report[], dispatch.run_status[]) is
$doc$Lock and give the runs that carry the reported claim number and stand in one of the
statuses, by id.

Errors: none.$doc$;
-- end sql/30_functions/lifecycle/_lock_runs.sql

-- begin sql/30_functions/lifecycle/_move_many_runs.sql
-- Planned each time, with the ids in hand: what the planner finds out about the tables then is
-- worth more than what it costs, and no plan made while they were empty is kept.
create or replace function dispatch._move_many_runs(
    p_workspace_id uuid,
    p_run_ids uuid[],
    p_status dispatch.run_status,
    p_is_claim boolean,
    p_leases interval[],
    p_now timestamptz
)
returns uuid[]
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
as $fn$
declare
    v_runtimes uuid[];
begin
    with moved as (
        update dispatch.run as r
        set
            status = p_status,
            claim_no = r.claim_no + p_is_claim::integer,
            dispatched_at = case when p_is_claim then p_now else r.dispatched_at end,
            started_at = case when p_status = 'running' then p_now else r.started_at end,
            finished_at = case when p_status = 'completed' then p_now end,
            lease_expires_at = p_now + p_leases[array_position(p_run_ids, r.id)]
        where r.workspace_id = p_workspace_id and r.id = any(p_run_ids)
        returning r.runtime_id
    )
    select array_agg(distinct m.runtime_id) into v_runtimes from moved as m;
    return v_runtimes;
end;
$fn$;

comment on function dispatch._move_many_runs(
    uuid, uuid[], dispatch.run_status, boolean, interval[], timestamptz
) is
$doc$Move runs as _move_runs does, by one statement.

Errors: none.$doc$;
-- end sql/30_functions/lifecycle/_move_many_runs.sql

-- begin sql/30_functions/lifecycle/_move_runs.sql
-- A few rows go one by one by their key, which is the same walk whatever the tables held when
-- the plan was made; more go by one statement, which is planned each time.
create or replace function dispatch._move_runs(
    p_workspace_id uuid,
    p_run_ids uuid[],
    p_status dispatch.run_status,
    p_is_claim boolean,
    p_leases interval[],
    p_now timestamptz
)
returns uuid[]
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_runtime uuid;
    v_runtimes uuid[] := '{}'::uuid[];
begin
    if cardinality(p_run_ids) > 4 then
        return dispatch._move_many_runs(
            p_workspace_id, p_run_ids, p_status, p_is_claim, p_leases, p_now
        );
    end if;
    for v_i in 1..cardinality(p_run_ids) loop
        update dispatch.run as r
        set
            status = p_status,
            claim_no = r.claim_no + p_is_claim::integer,
            dispatched_at = case when p_is_claim then p_now else r.dispatched_at end,
            started_at = case when p_status = 'running' then p_now else r.started_at end,
            finished_at = case when p_status = 'completed' then p_now end,
            lease_expires_at = p_now + p_leases[v_i]
        where r.workspace_id = p_workspace_id and r.id = p_run_ids[v_i]
        returning r.runtime_id into v_runtime;
        if not v_runtime = any(v_runtimes) then
            v_runtimes := v_runtimes || v_runtime;
        end if;
    end loop;
    return v_runtimes;
end;
$fn$;

comment on function dispatch._move_runs(
    uuid, uuid[], dispatch.run_status, boolean, interval[], timestamptz
) is
$doc$Move runs, which the caller holds and has found fit for it, to dispatched, running or
completed, and give their runtimes.

p_is_claim gives each its next claim number. p_leases are how long each counts as alive after
p_now, NULL for no lease.
Errors: none.$doc$;
-- end sql/30_functions/lifecycle/_move_runs.sql

-- begin sql/30_functions/lifecycle/_read_reports.sql
create or replace function dispatch._read_reports(p_reports jsonb, p_kinds jsonb)
returns dispatch._report[]
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_reports dispatch._report[];
    v_bad record;
begin
    perform dispatch._check_elements(
        'p_reports', p_reports,
        p_kinds || '{"run_id": "uuid", "claim_no": "integer"}', array['run_id', 'claim_no']
    );
    v_reports := array(
        select row(
            e.ordinality, e.value ->> 'run_id', (e.value ->> 'claim_no')::numeric,
            nullif(e.value -> 'result', 'null'), e.value ->> 'failure_reason',
            e.value ->> 'error', e.value ->> 'session_id', e.value ->> 'work_dir',
            coalesce((e.value ->> 'session_lost')::boolean, false), e.value ->> 'lease'
        )::dispatch._report
        from jsonb_array_elements(p_reports) with ordinality as e (value, ordinality)
        order by e.ordinality
    );
    select p.ord, c.field, c.message, c.advice
    into v_bad
    from unnest(v_reports) as p
    cross join lateral (
        values
        (
            'result', 'document too long', 'at most 1048576 bytes of JSON text.',
            octet_length(p.result::text) > dispatch.document_limit()
        ),
        (
            'failure_reason', 'text too long', 'at most 100 bytes.',
            octet_length(p.failure_reason) > dispatch.reason_limit()
        ),
        (
            'lease', 'lease out of range', 'a positive interval of at most 24 hours.',
            p.lease <= interval '0' or p.lease > dispatch.max_lease()
        )
    ) as c (field, message, advice, is_bad)
    where c.is_bad
    order by p.ord, c.field
    limit 1;
    if found then
        perform dispatch._raise(
            'PD400', v_bad.message, format('p_reports[%s].%s', v_bad.ord - 1, v_bad.field),
            v_bad.advice
        );
    end if;
    return v_reports;
end;
$fn$;

comment on function dispatch._read_reports(jsonb, jsonb) is
$doc$Check and read a batch of reports; p_kinds are the keys that this kind of report knows
besides run_id and claim_no.

Errors: PD400 as _check_elements, document or text too long, lease out of range.$doc$;
-- end sql/30_functions/lifecycle/_read_reports.sql

-- begin sql/30_functions/lifecycle/_start_runs.sql
-- Locks: issues and agents of runs that owe wakes, then run rows by id. The plan settings hold
-- for everything that this function calls: a plan made while the tables are empty is kept, and
-- must walk the same indexes as one made over a million rows.
create or replace function dispatch._start_runs(
    p_workspace_id uuid,
    p_reports dispatch._report[]
)
returns dispatch.transition[]
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_material = off
set jit = off
as $fn$
declare
    v_locked uuid[];
    v_leases interval[];
begin
    perform dispatch._lock_owing(
        p_workspace_id, array(select p.run_id from unnest(p_reports) as p)
    );
    v_locked := dispatch._lock_runs(
        p_workspace_id, p_reports, '{dispatched,waiting_local_directory}'
    );
    if cardinality(v_locked) > 0 then
        v_leases := array(
            select p.lease
            from dispatch._first_reports(p_reports) as p
            cross join lateral (
                select
                from dispatch.run as r
                where r.workspace_id = p_workspace_id
                    and r.id = p.run_id
                    and r.claim_no = p.claim_no
                limit 1
            ) as r
            where p.run_id = any(v_locked)
            order by p.run_id
        );
        perform dispatch._move_runs(
            p_workspace_id, v_locked, 'running', false, v_leases, dispatch.clock()
        );
        perform dispatch._settle_owed(p_workspace_id, v_locked);
    end if;
    return dispatch._answer_reports(p_workspace_id, p_reports, v_locked, 'running', null);
end;
$fn$;

comment on function dispatch._start_runs(uuid, dispatch._report[]) is
$doc$Move claimed runs to running and queue follow-ups for what came too late for their claims.

Returns a transition a report, in the order given.
Errors: none.$doc$;
-- end sql/30_functions/lifecycle/_start_runs.sql

-- begin sql/30_functions/lifecycle/_transition.sql
create or replace function dispatch._transition(
    p_workspace_id uuid,
    p_run_id uuid,
    p_claim_no integer,
    p_is_applied boolean
)
returns dispatch.transition
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_transition dispatch.transition;
begin
    select
        t.applied, t.run_id, t.status, t.claim_no, t.retry_run_id, t.reason, t.follow_up_run_id
    into v_transition
    from dispatch._transitions(
        p_workspace_id,
        array[row(
            1, p_run_id, p_claim_no, null, null, null, null, null, null, null
        )::dispatch._report],
        case when p_is_applied then array[p_run_id] else '{}' end,
        null
    ) as t;
    return v_transition;
end;
$fn$;

comment on function dispatch._transition(uuid, uuid, integer, boolean) is
$doc$Answer one report after the write; p_is_applied says whether this call moved the run.

Errors: none.$doc$;
-- end sql/30_functions/lifecycle/_transition.sql

-- begin sql/30_functions/lifecycle/_transitions.sql
create or replace function dispatch._transitions(
    p_workspace_id uuid,
    p_reports dispatch._report[],
    p_moved uuid[],
    p_repeated dispatch.run_status
)
returns setof dispatch.transition
language plpgsql
stable
parallel safe
rows 10
set search_path = pg_catalog, pg_temp
as $fn$
begin
    return query
    select
        a.is_applied, p.run_id, r.status, r.claim_no,
        case when r.status = 'failed' then (
            select c.run_id
            from dispatch.run_detail as c
            where c.workspace_id = p_workspace_id and c.parent_run_id = r.id
            limit 1
        ) end,
        case
            when a.is_applied then null
            when r.id is null then 'not_found'
            when r.claim_no <> p.claim_no then 'superseded'
            when r.status in ('completed', 'failed', 'cancelled') then 'already_terminal'
            else 'wrong_state'
        end,
        d.follow_up_run_id
    from (
        select
            q.ord, q.run_id, q.claim_no, q.result, q.failure_reason, q.error, q.session_id,
            q.work_dir, q.session_lost,
            row_number() over (partition by q.run_id, q.claim_no order by q.ord) as place
        from unnest(p_reports) as q
    ) as p
    left join lateral (
        select s.id, s.status, s.claim_no
        from dispatch.run as s
        where s.workspace_id = p_workspace_id and s.id = p.run_id
        limit 1
    ) as r on true
    left join lateral (
        select
            s.follow_up_run_id, s.result, s.session_id, s.work_dir, s.failure_reason, s.error
        from dispatch.run_detail as s
        where s.workspace_id = p_workspace_id and s.run_id = p.run_id
        limit 1
    ) as d on true
    cross join lateral (
        select coalesce(
            (r.id = any(p_moved) and r.claim_no = p.claim_no and p.place = 1)
            or (
                r.status = p_repeated
                and r.claim_no = p.claim_no
                and case p_repeated
                    when 'completed' then
                        d.result is not distinct from p.result
                        and d.session_id
                        is not distinct from case when not p.session_lost then p.session_id end
                        and d.work_dir is not distinct from p.work_dir
                    when 'failed' then
                        d.failure_reason = coalesce(p.failure_reason, 'agent_error')
                        and d.error
                        is not distinct from dispatch._cut_text(p.error, dispatch.error_limit())
                        and case
                            when p.session_lost then d.session_id is null
                            else p.session_id is null or p.session_id = d.session_id
                        end
                        and (p.work_dir is null or p.work_dir = d.work_dir)
                end
            ),
            false
        ) as is_applied
    ) as a
    order by p.ord;
end;
$fn$;

comment on function dispatch._transitions(
    uuid, dispatch._report[], uuid[], dispatch.run_status
) is
$doc$Answer reports after the write: a transition a report, in the order given.

p_moved are the runs that this call moved. p_repeated is the terminal status whose equal repeat,
with the run's own claim number, counts as applied too; NULL when no repeat does.
Errors: none.$doc$;
-- end sql/30_functions/lifecycle/_transitions.sql

-- begin sql/30_functions/lifecycle/cancel_run.sql
create or replace function dispatch.cancel_run(
    p_workspace_id uuid,
    p_run_id uuid,
    p_actor_type text,
    p_actor_id uuid default null,
    p_acting_run_id uuid default null,
    p_reason text default null
)
returns dispatch.transition
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_agent uuid;
    v_claim_no integer;
    v_chat uuid;
    v_originator uuid;
    v_user uuid;
    v_cancelled integer;
    v_now timestamptz;
begin
    perform dispatch._check_ids(
        array['p_workspace_id', 'p_run_id'], array[p_workspace_id, p_run_id]
    );
    v_user := dispatch._resolve_actor(
        p_workspace_id, p_actor_type, p_actor_id, p_acting_run_id
    );
    select r.agent_id, d.chat_session_id, d.originator_id
    into v_agent, v_chat, v_originator
    from dispatch.run as r
    inner join dispatch.run_detail as d
        on d.workspace_id = r.workspace_id and d.run_id = r.id
    where r.workspace_id = p_workspace_id
        and d.workspace_id = p_workspace_id
        and r.id = p_run_id;
    if not found then
        return row(false, p_run_id, null, null, null, 'not_found', null)::dispatch.transition;
    end if;
    if p_actor_type = 'system' then
        null;
    elsif p_actor_type = 'agent'
        or v_chat is not null and v_user is distinct from v_originator
        or not dispatch._may_view(p_workspace_id, v_agent, p_actor_type, p_actor_id)
    then
        perform dispatch._raise(
            'PD403', 'cancel not allowed', 'p_actor_id',
            'act as somebody who may see the runs, or as the originator of a chat.'
        );
    end if;
    perform dispatch._lock_run(p_workspace_id, p_run_id);
    v_now := dispatch.clock();
    v_cancelled := dispatch._cancel_runs(p_workspace_id, array[p_run_id], p_reason, v_now);
    select r.claim_no
    into v_claim_no
    from dispatch.run as r
    where r.workspace_id = p_workspace_id and r.id = p_run_id;
    return dispatch._transition(p_workspace_id, p_run_id, v_claim_no, v_cancelled = 1);
end;
$fn$;

comment on function dispatch.cancel_run(uuid, uuid, text, uuid, uuid, text) is
$doc$Cancel a run that has not ended, in whatever state, with all the wakes recorded on it.

The system may, and members who may see the agent's runs, a run of a chat only its originator;
agents may not.
p_reason is kept as the run's error. A terminal run is already_terminal, an unknown or foreign
one not_found. Rule: issue-to-run 4.
Errors: PD400 missing, unknown or all-zero argument; PD403 cancel not allowed, actor is no
member or agent, or (DETAIL attribution_blocked) the acting run is not active.$doc$;
-- end sql/30_functions/lifecycle/cancel_run.sql

-- begin sql/30_functions/lifecycle/complete_run.sql
create or replace function dispatch.complete_run(
    p_workspace_id uuid,
    p_run_id uuid,
    p_claim_no integer,
    p_result jsonb default null,
    p_session_id text default null,
    p_work_dir text default null,
    p_session_lost boolean default false
)
returns dispatch.transition
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_answers dispatch.transition[];
begin
    perform dispatch._check_report(p_workspace_id, p_run_id, p_claim_no);
    perform dispatch._check_outcome(p_result, null, p_session_lost);
    v_answers := dispatch._complete_runs(
        p_workspace_id,
        array[row(
            1, p_run_id, p_claim_no, p_result, null, null, p_session_id, p_work_dir,
            p_session_lost, null
        )::dispatch._report]
    );
    return v_answers[1];
end;
$fn$;

comment on function dispatch.complete_run(uuid, uuid, integer, jsonb, text, text, boolean) is
$doc$Report that a running run has done its work.

p_result is any JSON, at most 1 MiB. p_session_id and p_work_dir are what a later run may
resume; given or not they replace what was stored, and p_session_lost says that the session
cannot be resumed whatever its id. Repeating the report with the same arguments is applied and
changes nothing; with other arguments it is already_terminal. Rule: issue-to-run 4.
Errors: PD400 missing argument, all-zero id or document too long.$doc$;
-- end sql/30_functions/lifecycle/complete_run.sql

-- begin sql/30_functions/lifecycle/complete_runs.sql
create or replace function dispatch.complete_runs(p_workspace_id uuid, p_reports jsonb)
returns setof dispatch.transition
language plpgsql
volatile
parallel unsafe
rows 10
security definer
set search_path = pg_catalog, pg_temp
as $fn$
begin
    perform dispatch._check_ids(array['p_workspace_id'], array[p_workspace_id]);
    return query
    select
        t.applied, t.run_id, t.status, t.claim_no, t.retry_run_id, t.reason, t.follow_up_run_id
    from unnest(dispatch._complete_runs(
        p_workspace_id,
        dispatch._read_reports(
            p_reports,
            '{"result": "any", "session_id": "string", "work_dir": "string",
            "session_lost": "boolean"}'
        )
    )) as t;
end;
$fn$;

comment on function dispatch.complete_runs(uuid, jsonb) is
$doc$Report the completion of many runs in one call: one transition an element, in the
order given.

p_reports is an array of at most 1000 objects whose keys are the arguments of complete_run
without their p_; run_id and claim_no are required. Each element stands alone: one that
does not apply says why and spoils no other. A second element about one run counts as a
repeat. Rule: issue-to-run 4.
Errors: PD400 a batch or element of a wrong shape (COLUMN p_reports[N].KEY counted from
0).$doc$;
-- end sql/30_functions/lifecycle/complete_runs.sql

-- begin sql/30_functions/lifecycle/defer_run.sql
-- The status is compared with a variable, so that the key's index is the only one that offers
-- itself.
create or replace function dispatch.defer_run(
    p_workspace_id uuid,
    p_run_id uuid,
    p_claim_no integer,
    p_until timestamptz
)
returns dispatch.transition
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_active constant dispatch.run_status[] := array[
        'dispatched', 'waiting_local_directory', 'running'
    ]::dispatch.run_status[];
    v_now timestamptz := dispatch.clock();
    v_runtime uuid;
begin
    perform dispatch._check_report(p_workspace_id, p_run_id, p_claim_no);
    if p_until is null then
        perform dispatch._raise('PD400', 'argument missing', 'p_until', 'give a time.');
    end if;
    perform dispatch._check_instant('p_until', p_until, v_now);
    perform dispatch._lock_run(p_workspace_id, p_run_id);
    v_now := dispatch.clock();
    update dispatch.run as r
    set
        status = 'deferred',
        fire_at = greatest(p_until, v_now),
        dispatched_at = null,
        started_at = null,
        lease_expires_at = null
    where r.workspace_id = p_workspace_id
        and r.id = p_run_id
        and r.claim_no = p_claim_no
        and r.status = any(v_active)
    returning r.runtime_id into v_runtime;
    if found then
        perform dispatch._notify_runtimes(array[v_runtime]);
        return dispatch._transition(p_workspace_id, p_run_id, p_claim_no, true);
    end if;
    return dispatch._transition(p_workspace_id, p_run_id, p_claim_no, false);
end;
$fn$;

comment on function dispatch.defer_run(uuid, uuid, integer, timestamptz) is
$doc$Put a claimed, waiting or running run off until p_until; it uses up no attempt.

The run becomes deferred, frees its slot and lane, is queued again once due, and is then
delivered with all its wakes. A time in the past means now; at most 366 days ahead. Rule:
reliability R14.
Errors: PD400 missing argument, all-zero id or time out of range.$doc$;
-- end sql/30_functions/lifecycle/defer_run.sql

-- begin sql/30_functions/lifecycle/extend_lease.sql
-- The status is compared with a variable, so that the key's index is the only one that offers
-- itself.
create or replace function dispatch.extend_lease(
    p_workspace_id uuid,
    p_run_id uuid,
    p_claim_no integer,
    p_lease interval default null
)
returns dispatch.transition
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_active constant dispatch.run_status[] := array[
        'dispatched', 'waiting_local_directory', 'running'
    ]::dispatch.run_status[];
    v_transition dispatch.transition;
    v_now timestamptz;
    v_expires timestamptz;
begin
    perform dispatch._check_report(p_workspace_id, p_run_id, p_claim_no);
    perform dispatch._check_lease('p_lease', p_lease);
    perform dispatch._lock_run(p_workspace_id, p_run_id);
    v_now := dispatch.clock();
    update dispatch.run as r
    set lease_expires_at = greatest(
        r.lease_expires_at, v_now + coalesce(p_lease, dispatch.prepare_lease())
    )
    where r.workspace_id = p_workspace_id
        and r.id = p_run_id
        and r.claim_no = p_claim_no
        and r.status = any(v_active)
        and r.lease_expires_at >= v_now;
    v_transition := dispatch._transition(p_workspace_id, p_run_id, p_claim_no, found);
    if v_transition.reason = 'wrong_state' then
        select r.lease_expires_at
        into v_expires
        from dispatch.run as r
        where r.workspace_id = p_workspace_id
            and r.id = p_run_id
            and r.status = any(v_active);
        if v_expires is not null then
            v_transition.reason := 'lease_expired';
        end if;
    end if;
    return v_transition;
end;
$fn$;

comment on function dispatch.extend_lease(uuid, uuid, integer, interval) is
$doc$Keep a claim, or a running run that was started with a lease, protected for longer.

The lease then lasts p_lease from now (left NULL: 45 s) and never gets shorter. A lease that has
run out is lease_expired; a running run without a lease is wrong_state. Rule: issue-to-run 4.
Errors: PD400 missing argument, all-zero id or lease out of range.$doc$;
-- end sql/30_functions/lifecycle/extend_lease.sql

-- begin sql/30_functions/lifecycle/fail_run.sql
create or replace function dispatch.fail_run(
    p_workspace_id uuid,
    p_run_id uuid,
    p_claim_no integer,
    p_failure_reason text default null,
    p_error text default null,
    p_session_id text default null,
    p_work_dir text default null,
    p_session_lost boolean default false
)
returns dispatch.transition
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_transition dispatch.transition;
begin
    perform dispatch._check_report(p_workspace_id, p_run_id, p_claim_no);
    perform dispatch._check_outcome(null, p_failure_reason, p_session_lost);
    select
        t.applied, t.run_id, t.status, t.claim_no, t.retry_run_id, t.reason, t.follow_up_run_id
    into v_transition
    from dispatch._fail_runs(
        p_workspace_id,
        array[row(
            1, p_run_id, p_claim_no, null, p_failure_reason, p_error, p_session_id,
            p_work_dir, p_session_lost, null
        )::dispatch._report]
    ) as t;
    return v_transition;
end;
$fn$;

comment on function dispatch.fail_run(uuid, uuid, integer, text, text, text, text, boolean) is
$doc$Report that a claimed, waiting or running run has failed.

p_failure_reason is a word of at most 100 bytes, agent_error when none is given; for a retryable
one with attempts left retry_run_id is the queued retry, unless another run holds the pending
slot and took over. p_error beyond 64 KiB is cut and marked. A session or work directory not
given stays as stored; p_session_lost forgets the session. Repeating the report with the same
arguments is applied and changes nothing; with other arguments it is already_terminal. Rule:
issue-to-run 4.
Errors: PD400 missing argument, all-zero id or text too long.$doc$;
-- end sql/30_functions/lifecycle/fail_run.sql

-- begin sql/30_functions/lifecycle/fail_runs.sql
create or replace function dispatch.fail_runs(p_workspace_id uuid, p_reports jsonb)
returns setof dispatch.transition
language plpgsql
volatile
parallel unsafe
rows 10
security definer
set search_path = pg_catalog, pg_temp
as $fn$
begin
    perform dispatch._check_ids(array['p_workspace_id'], array[p_workspace_id]);
    return query
    select
        t.applied, t.run_id, t.status, t.claim_no, t.retry_run_id, t.reason, t.follow_up_run_id
    from dispatch._fail_runs(
        p_workspace_id,
        dispatch._read_reports(
            p_reports,
            '{"failure_reason": "string", "error": "string", "session_id": "string",
            "work_dir": "string", "session_lost": "boolean"}'
        )
    ) as t;
end;
$fn$;

comment on function dispatch.fail_runs(uuid, jsonb) is
$doc$Report the failure of many runs in one call: one transition an element, in the order
given.

p_reports is an array of at most 1000 objects whose keys are the arguments of fail_run
without their p_; run_id and claim_no are required. Each element stands alone: one that
does not apply says why and spoils no other. A second element about one run counts as a
repeat. Rule: issue-to-run 4.
Errors: PD400 a batch or element of a wrong shape (COLUMN p_reports[N].KEY counted from
0).$doc$;
-- end sql/30_functions/lifecycle/fail_runs.sql

-- begin sql/30_functions/lifecycle/requeue_run.sql
-- The status is compared with a variable, so that the key's index is the only one that offers
-- itself.
create or replace function dispatch.requeue_run(
    p_workspace_id uuid,
    p_run_id uuid,
    p_claim_no integer
)
returns dispatch.transition
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_dispatched constant dispatch.run_status := 'dispatched'::dispatch.run_status;
    v_runtime uuid;
begin
    perform dispatch._check_report(p_workspace_id, p_run_id, p_claim_no);
    update dispatch.run as r
    set status = 'queued', dispatched_at = null, lease_expires_at = null
    where r.workspace_id = p_workspace_id
        and r.id = p_run_id
        and r.claim_no = p_claim_no
        and r.status = v_dispatched
    returning r.runtime_id into v_runtime;
    if found then
        perform dispatch._notify_runtimes(array[v_runtime]);
        return dispatch._transition(p_workspace_id, p_run_id, p_claim_no, true);
    end if;
    return dispatch._transition(p_workspace_id, p_run_id, p_claim_no, false);
end;
$fn$;

comment on function dispatch.requeue_run(uuid, uuid, integer) is
$doc$Give a claim back at once: dispatched becomes queued, in its old place.

For a daemon that claimed and cannot prepare. The next claim delivers all of the run's wakes.
Only the claim that still has the run's number may do it. Rule: issue-to-run 4.
Errors: PD400 missing argument or all-zero id.$doc$;
-- end sql/30_functions/lifecycle/requeue_run.sql

-- begin sql/30_functions/lifecycle/start_run.sql
create or replace function dispatch.start_run(
    p_workspace_id uuid,
    p_run_id uuid,
    p_claim_no integer,
    p_lease interval default null
)
returns dispatch.transition
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_answers dispatch.transition[];
begin
    perform dispatch._check_report(p_workspace_id, p_run_id, p_claim_no);
    if p_lease is not null then
        perform dispatch._check_lease('p_lease', p_lease);
    end if;
    v_answers := dispatch._start_runs(
        p_workspace_id,
        array[row(
            1, p_run_id, p_claim_no, null, null, null, null, null, null, p_lease
        )::dispatch._report]
    );
    return v_answers[1];
end;
$fn$;

comment on function dispatch.start_run(uuid, uuid, integer, interval) is
$doc$Report that a claimed run has begun: dispatched or waiting becomes running.

p_claim_no is the number that the claim returned. With p_lease the run itself counts as lost
once the lease has run out without extend_lease; without one only its runtime's heartbeat keeps
it. Wakes that came too late for the claim get one follow_up_run_id. A lease that has run out
does not refuse the start while the claim number is the run's. Rule: issue-to-run 4.
Errors: PD400 missing argument, all-zero id or lease out of range.$doc$;
-- end sql/30_functions/lifecycle/start_run.sql

-- begin sql/30_functions/lifecycle/start_runs.sql
create or replace function dispatch.start_runs(p_workspace_id uuid, p_reports jsonb)
returns setof dispatch.transition
language plpgsql
volatile
parallel unsafe
rows 10
security definer
set search_path = pg_catalog, pg_temp
as $fn$
begin
    perform dispatch._check_ids(array['p_workspace_id'], array[p_workspace_id]);
    return query
    select
        t.applied, t.run_id, t.status, t.claim_no, t.retry_run_id, t.reason, t.follow_up_run_id
    from unnest(dispatch._start_runs(
        p_workspace_id,
        dispatch._read_reports(
            p_reports,
            '{"lease": "interval"}'
        )
    )) as t;
end;
$fn$;

comment on function dispatch.start_runs(uuid, jsonb) is
$doc$Report the start of many runs in one call: one transition an element, in the order
given.

p_reports is an array of at most 1000 objects whose keys are the arguments of start_run
without their p_; run_id and claim_no are required, a lease is a text such as 45 seconds
or PT45S. Each element stands alone: one that does not apply says why and spoils no other.
A second element about one run counts as a repeat. Rule: issue-to-run 4.
Errors: PD400 a batch or element of a wrong shape (COLUMN p_reports[N].KEY counted from
0).$doc$;
-- end sql/30_functions/lifecycle/start_runs.sql

-- begin sql/30_functions/lifecycle/wait_run.sql
-- The status is compared with a variable, so that the key's index is the only one that offers
-- itself.
create or replace function dispatch.wait_run(
    p_workspace_id uuid,
    p_run_id uuid,
    p_claim_no integer,
    p_wait_reason text
)
returns dispatch.transition
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_dispatched constant dispatch.run_status := 'dispatched'::dispatch.run_status;
    v_now timestamptz;
    v_found boolean;
begin
    perform dispatch._check_report(p_workspace_id, p_run_id, p_claim_no);
    perform dispatch._check_text('p_wait_reason', p_wait_reason, dispatch.error_limit());
    perform dispatch._lock_owing(p_workspace_id, array[p_run_id]);
    perform dispatch._lock_run(p_workspace_id, p_run_id);
    v_now := dispatch.clock();
    update dispatch.run as r
    set
        status = 'waiting_local_directory',
        lease_expires_at = v_now + dispatch.prepare_lease()
    where r.workspace_id = p_workspace_id
        and r.id = p_run_id
        and r.claim_no = p_claim_no
        and r.status = v_dispatched;
    v_found := found;
    if v_found then
        update dispatch.run_detail as d
        set wait_reason = btrim(p_wait_reason)
        where d.workspace_id = p_workspace_id and d.run_id = p_run_id;
        perform dispatch._settle_owed(p_workspace_id, array[p_run_id]);
    end if;
    return dispatch._transition(p_workspace_id, p_run_id, p_claim_no, v_found);
end;
$fn$;

comment on function dispatch.wait_run(uuid, uuid, integer, text) is
$doc$Report that a claimed run waits for its local directory: dispatched becomes waiting.

p_wait_reason says what it waits for, at most 64 KiB. The claim is protected for another 45 s,
to be extended while it waits. Wakes that came too late for the claim get one follow_up_run_id.
Rule: issue-to-run 4.
Errors: PD400 missing argument, all-zero id or text too long.$doc$;
-- end sql/30_functions/lifecycle/wait_run.sql

-- begin sql/30_functions/maintenance/_add_totals.sql
create or replace function dispatch._add_totals(p_workspace_id uuid, p_totals dispatch._total[])
returns void
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    insert into dispatch.gate_total as o (workspace_id, metric, reason, value)
    select p_workspace_id, t.metric, t.reason, t.value
    from unnest(p_totals) as t
    order by t.metric, t.reason
    on conflict (workspace_id, metric, reason) do update
    set value = o.value + excluded.value;
end;
$fn$;

comment on function dispatch._add_totals(uuid, dispatch._total[]) is
$doc$Add to the sums of what was pruned.

Errors: none.$doc$;
-- end sql/30_functions/maintenance/_add_totals.sql

-- begin sql/30_functions/maintenance/_notify_runtimes.sql
-- The server folds equal notices of one transaction into one, so callers need not remember.
create or replace function dispatch._notify_runtimes(p_runtime_ids uuid[])
returns void
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_runtime uuid;
begin
    foreach v_runtime in array coalesce(p_runtime_ids, '{}') loop
        if v_runtime is not null then
            perform pg_notify(dispatch.wake_channel(), v_runtime::text);
        end if;
    end loop;
end;
$fn$;

comment on function dispatch._notify_runtimes(uuid[]) is
$doc$Tell whoever listens for these runtimes that a run may have become claimable.

Heard on commit, at most once a transaction and runtime; NULL elements are ignored.
Errors: none.$doc$;
-- end sql/30_functions/maintenance/_notify_runtimes.sql

-- begin sql/30_functions/maintenance/_prune.sql
-- Locks: the rows that it deletes, skip locked. What is deleted is added to gate_total in the
-- same transaction, so the counters never go back.
create or replace function dispatch._prune(
    p_workspace_id uuid,
    p_max integer,
    p_now timestamptz
)
returns integer
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_material = off
set jit = off
as $fn$
declare
    v_runs uuid[];
    v_events uuid[];
begin
    v_runs := array(
        select r.id
        from dispatch.run as r
        where r.workspace_id = p_workspace_id
            and r.status in ('completed', 'failed', 'cancelled')
            and r.finished_at < p_now - dispatch.run_retention()
        order by r.finished_at
        limit p_max
        for update skip locked
    );
    perform dispatch._add_totals(p_workspace_id, array(
        select row(
            dispatch._gate_metric(c.reason), c.reason, sum(c.count)
        )::dispatch._total
        from (
            select
                case t.outcome when 'coalesced' then 'coalesced' else 'already_active' end
                as reason,
                t.count
            from unnest(v_runs) as i (id)
            cross join lateral (
                select g.outcome, g.count
                from dispatch.run_trigger as g
                where g.workspace_id = p_workspace_id
                    and g.run_id = i.id
                    and g.outcome in ('coalesced', 'absorbed')
                    and not g.inherited
                offset 0
            ) as t
        ) as c
        group by c.reason
    ));
    delete from dispatch.run as r
    where r.workspace_id = p_workspace_id and r.id = any(v_runs);
    v_events := array(
        select e.id
        from dispatch.gate_event as e
        where e.workspace_id = p_workspace_id
            and e.at < p_now - dispatch.gate_event_retention()
        order by e.at
        limit p_max
        for update skip locked
    );
    perform dispatch._add_totals(p_workspace_id, array(
        select row(e.metric, e.reason, count(*))::dispatch._total
        from dispatch.gate_event as e
        where e.workspace_id = p_workspace_id and e.id = any(v_events)
        group by e.metric, e.reason
    ));
    delete from dispatch.gate_event as e
    where e.workspace_id = p_workspace_id and e.id = any(v_events);
    return cardinality(v_runs) + cardinality(v_events);
end;
$fn$;

comment on function dispatch._prune(uuid, integer, timestamptz) is
$doc$Delete up to p_max runs and p_max gate events that are older than their retention; returns
how many.

A run goes with its details and wakes; links to it from later runs stay as they are.
Errors: none.$doc$;
-- end sql/30_functions/maintenance/_prune.sql

-- begin sql/30_functions/maintenance/_steps.sql
create or replace function dispatch._steps()
returns text[]
language sql
immutable
parallel safe
as $fn$
select array['replay', 'promote', 'sweep', 'prune'];
$fn$;

comment on function dispatch._steps() is
$doc$Name the steps of a tick in their order.

Errors: none.$doc$;
-- end sql/30_functions/maintenance/_steps.sql

-- begin sql/30_functions/maintenance/tick.sql
create or replace function dispatch.tick(
    p_only text default null,
    out step text,
    out rows integer
)
returns setof record
language plpgsql
volatile
parallel unsafe
rows 4
security definer
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_workspaces constant uuid[] := array(
        select w.id from dispatch.workspace as w order by w.id
    );
    v_workspace uuid;
    v_now timestamptz;
begin
    perform dispatch._check_isolation();
    if p_only is not null then
        perform dispatch._check_word('p_only', p_only, dispatch._steps());
    end if;
    foreach step in array dispatch._steps() loop
        continue when step <> p_only;
        rows := 0;
        if step = 'sweep' then
            select coalesce(sum(s.runs), 0)::integer into rows from dispatch.sweep() as s;
        elsif step = 'replay' then
            rows := dispatch._replay_oldest(5);
        else
            foreach v_workspace in array v_workspaces loop
                v_now := dispatch.clock();
                rows := rows + case step
                    when 'promote' then dispatch.promote_deferred(v_workspace)
                    else dispatch._prune(v_workspace, 500, v_now)
                end;
            end loop;
        end if;
        return next;
    end loop;
end;
$fn$;

comment on function dispatch.tick(text) is
$doc$Do what has to be done from time to time, over all workspaces: a row a step, with how many
rows.

In this order: replay (the five oldest assignments that a pause refused, of workspaces that are
not paused), promote (deferred runs that are due), sweep (all sweeps), prune (at most 500 runs
and 500 gate events a workspace that are older than their retention). p_only names the one to
do. Call once a step, each in a transaction of its own: several together hold their locks until
the last is done, and may be chosen as the victim of a deadlock. Rule: issue-to-run 4; admission
7.4.
Errors: PD400 an unknown step, or a transaction stricter than READ COMMITTED (COLUMN
transaction_isolation); PD409 pending slot contended.$doc$;
-- end sql/30_functions/maintenance/tick.sql

-- begin sql/30_functions/pause/_check_pause_actor.sql
create or replace function dispatch._check_pause_actor(
    p_workspace_id uuid,
    p_actor_type text,
    p_actor_id uuid,
    p_acting_run_id uuid
)
returns void
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    perform dispatch._resolve_actor(
        p_workspace_id, p_actor_type, p_actor_id, p_acting_run_id
    );
    if p_actor_type = 'agent' then
        perform dispatch._raise(
            'PD403', 'agents may not pause or resume', 'p_actor_type', 'act as a member.'
        );
    end if;
end;
$fn$;

comment on function dispatch._check_pause_actor(uuid, text, uuid, uuid) is
$doc$Refuse whoever may not pause or resume a workspace: agents, and users who are no members.

Errors: PD400 as _resolve_actor; PD403 actor is an agent or no member.$doc$;
-- end sql/30_functions/pause/_check_pause_actor.sql

-- begin sql/30_functions/pause/_pause_verdict.sql
-- A stop switch that opens when it cannot be read is none, so this read fails closed. The
-- exception block writes nothing inside, so it uses up no transaction id.
create or replace function dispatch._pause_verdict(p_workspace_id uuid)
returns dispatch.reason_code
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    if dispatch._workspace_is_paused(p_workspace_id) then
        return 'paused'::dispatch.reason_code;
    end if;
    return null;
exception
    when others then
        if sqlstate like '40%' or sqlstate in ('57014', '0A000') then
            raise;
        end if;
        return 'pause_unreadable'::dispatch.reason_code;
end;
$fn$;

comment on function dispatch._pause_verdict(uuid) is
$doc$Gate 3: give the code with which a pause blocks a wake; NULL when the workspace is not
paused.

A state that cannot be read blocks as pause_unreadable. Rule: assignment-wake-rate-limit,
Failure direction.
Errors: those of class 40, 57014 and 0A000 only.$doc$;
-- end sql/30_functions/pause/_pause_verdict.sql

-- begin sql/30_functions/pause/_remember_assignment.sql
-- One record an issue: a later assignment replaces an earlier one, a stale writer replaces
-- nothing.
create or replace function dispatch._remember_assignment(
    p_workspace_id uuid,
    p_wake dispatch.wake,
    p_now timestamptz
)
returns void
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    if p_wake.reason <> 'task_assigned' or p_wake.issue_id is null then
        return;
    end if;
    insert into dispatch.deferred_assignment as o (
        workspace_id, issue_id, agent_id, assignment_generation, actor_type, actor_id,
        created_at, originator_id, accountable_id, attribution_source, delegated_from_run_id,
        squad_id, handoff_note
    )
    select
        i.workspace_id, i.id, p_wake.agent_id, i.assignment_generation, p_wake.actor_type,
        p_wake.actor_id, p_now, p_wake.originator_id, p_wake.accountable_id,
        p_wake.attribution_source, p_wake.delegated_from_run_id, p_wake.squad_id,
        p_wake.handoff_note
    from dispatch.issue as i
    where i.workspace_id = p_workspace_id
        and i.id = p_wake.issue_id
        and i.assignee_id = coalesce(p_wake.squad_id, p_wake.agent_id)
        and (
            p_wake.idempotency_key is null
            or p_wake.idempotency_key = format(
                'task_assigned:%s:%s:%s', i.id, p_wake.agent_id, i.assignment_generation
            )
        )
    on conflict (workspace_id, issue_id) do update
    set
        agent_id = excluded.agent_id,
        assignment_generation = excluded.assignment_generation,
        actor_type = excluded.actor_type,
        actor_id = excluded.actor_id,
        created_at = excluded.created_at,
        resolved_at = null,
        resolution = null,
        originator_id = excluded.originator_id,
        accountable_id = excluded.accountable_id,
        attribution_source = excluded.attribution_source,
        delegated_from_run_id = excluded.delegated_from_run_id,
        squad_id = excluded.squad_id,
        handoff_note = excluded.handoff_note
    where o.resolved_at is not null
        or o.assignment_generation < excluded.assignment_generation
        or (
            o.assignment_generation = excluded.assignment_generation
            and o.actor_id is null
            and excluded.actor_id is not null
        );
end;
$fn$;

comment on function dispatch._remember_assignment(uuid, dispatch.wake, timestamptz) is
$doc$Keep an assignment that a pause refused for replay when the pause ends.

Only while the issue is still assigned as the wake says, at the generation of its key. Replaces
a record that is resolved, of a lower generation, or of the same one without an actor. Rule:
admission 7.4.
Errors: none.$doc$;
-- end sql/30_functions/pause/_remember_assignment.sql

-- begin sql/30_functions/pause/_replay_assignment.sql
create or replace function dispatch._replay_assignment(
    p_old dispatch.deferred_assignment,
    p_issue dispatch.issue
)
returns boolean
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_wake dispatch.wake;
    v_decision dispatch.decision;
    v_resolution text := 'dropped';
    v_now timestamptz;
begin
    if p_issue.id is not null
        and p_issue.assignee_id = coalesce(p_old.squad_id, p_old.agent_id)
        and p_issue.assignment_generation = p_old.assignment_generation
    then
        v_wake := dispatch._issue_wake(
            p_issue, p_old.agent_id, p_old.squad_id, 'assign', p_old.actor_type, p_old.actor_id,
            null, p_old.handoff_note
        );
        v_wake.originator_id := p_old.originator_id;
        v_wake.accountable_id := p_old.accountable_id;
        v_wake.attribution_source := p_old.attribution_source;
        v_wake.delegated_from_run_id := p_old.delegated_from_run_id;
        if p_old.attribution_source is not null then
            v_wake.skip := array['attribution'];
        end if;
        select d.outcome, d.reason_code, d.run_id, d.agent_id, d.source, d.detail
        into v_decision
        from dispatch._admit_wakes(p_old.workspace_id, array[v_wake]) as d;
        v_resolution := case
            when v_decision.outcome in ('queued', 'coalesced', 'absorbed', 'deduplicated')
                then 'replayed'
            when v_decision.outcome = 'blocked'
                and v_decision.reason_code not in ('paused', 'pause_unreadable')
                then 'dropped'
        end;
    end if;
    if v_resolution is null then
        return false;
    end if;
    v_now := dispatch.clock();
    update dispatch.deferred_assignment as o
    set resolved_at = v_now, resolution = v_resolution
    where o.workspace_id = p_old.workspace_id
        and o.issue_id = p_old.issue_id
        and o.assignment_generation = p_old.assignment_generation
        and o.resolved_at is null;
    return found;
end;
$fn$;

comment on function dispatch._replay_assignment(
    dispatch.deferred_assignment, dispatch.issue
) is
$doc$Take one remembered assignment through admission again; true when that resolved it.

Dropped when the issue is gone, unassigned, assigned to another or assigned anew since, or when
its agent may not be woken. It stays when the allowance or another pause refuses it. p_issue is
the issue as it stands, NULL when it is gone.
Errors: as _admit_wakes.$doc$;
-- end sql/30_functions/pause/_replay_assignment.sql

-- begin sql/30_functions/pause/_replay_assignments.sql
-- A paused workspace is left alone before anything is locked: a resume that is under way would
-- skip what is locked here, and then nobody would replay it.
-- Locks: the records, skip locked, so that a resume and a tick share the work; then each issue
-- FOR KEY SHARE, its agent and its runs, as every admission. All issues are locked before the
-- first admission, since agents and runs come after issues.
create or replace function dispatch._replay_assignments(p_workspace_id uuid, p_max integer)
returns integer
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_records uuid[];
    v_issues dispatch.issue[];
    v_issue dispatch.issue;
    v_old dispatch.deferred_assignment;
    v_done integer := 0;
begin
    if dispatch._pause_verdict(p_workspace_id) is not null then
        return 0;
    end if;
    v_records := array(
        select o.issue_id
        from dispatch.deferred_assignment as o
        where o.workspace_id = p_workspace_id and o.resolved_at is null
        order by o.created_at, o.issue_id
        limit p_max
        for update skip locked
    );
    v_issues := array(
        select i
        from dispatch.issue as i
        where i.workspace_id = p_workspace_id and i.id = any(v_records)
        order by i.id
        for key share
    );
    for v_old in
        select
            o.workspace_id, o.issue_id, o.agent_id, o.assignment_generation, o.actor_type,
            o.actor_id, o.created_at, o.resolved_at, o.resolution, o.originator_id,
            o.accountable_id, o.attribution_source, o.delegated_from_run_id, o.squad_id,
            o.handoff_note
        from dispatch.deferred_assignment as o
        where o.workspace_id = p_workspace_id and o.issue_id = any(v_records)
        order by o.created_at, o.issue_id
    loop
        v_issue := null;
        select
            i.workspace_id, i.id, i.number, i.title, i.status, i.priority, i.assignee_type,
            i.assignee_id, i.assignment_generation, i.creator_type, i.creator_id,
            i.origin_type, i.origin_id, i.parent_id, i.stage, i.created_at, i.updated_at
        into v_issue
        from unnest(v_issues) as i
        where i.id = v_old.issue_id;
        if dispatch._replay_assignment(v_old, v_issue) then
            v_done := v_done + 1;
        end if;
    end loop;
    return v_done;
end;
$fn$;

comment on function dispatch._replay_assignments(uuid, integer) is
$doc$Take remembered assignments of a workspace through admission again, oldest first; p_max
NULL means all. Returns how many were resolved, 0 in a workspace that is paused or may be.

Rule: admission 7.4.
Errors: as _admit_wakes.$doc$;
-- end sql/30_functions/pause/_replay_assignments.sql

-- begin sql/30_functions/pause/_replay_oldest.sql
create or replace function dispatch._replay_oldest(p_max integer)
returns integer
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_workspace uuid;
    v_running uuid[] := '{}'::uuid[];
    v_share record;
    v_done integer := 0;
begin
    for v_workspace in
        select distinct o.workspace_id
        from dispatch.deferred_assignment as o
        where o.resolved_at is null
        order by o.workspace_id
    loop
        if not dispatch._workspace_is_paused(v_workspace) then
            v_running := v_running || v_workspace;
        end if;
    end loop;
    for v_share in
        select q.workspace_id, count(*)::integer as records
        from (
            select o.workspace_id
            from dispatch.deferred_assignment as o
            where o.workspace_id = any(v_running) and o.resolved_at is null
            order by o.created_at, o.issue_id
            limit p_max
        ) as q
        group by q.workspace_id
        order by q.workspace_id
    loop
        v_done := v_done + dispatch._replay_assignments(v_share.workspace_id, v_share.records);
    end loop;
    return v_done;
end;
$fn$;

comment on function dispatch._replay_oldest(integer) is
$doc$Replay the p_max oldest remembered assignments of workspaces that are not paused; returns
how many were resolved.

Errors: as _admit_wakes.$doc$;
-- end sql/30_functions/pause/_replay_oldest.sql

-- begin sql/30_functions/pause/_resumed_since.sql
create or replace function dispatch._resumed_since(p_workspace_id uuid, p_since timestamptz)
returns boolean
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    return exists (
        select from dispatch.workspace_pause as p
        where p.workspace_id = p_workspace_id and p.released_at >= p_since
    );
end;
$fn$;

comment on function dispatch._resumed_since(uuid, timestamptz) is
$doc$Tell whether a pause of the workspace ended at p_since or later.

Errors: none.$doc$;
-- end sql/30_functions/pause/_resumed_since.sql

-- begin sql/30_functions/pause/_workspace_is_paused.sql
create or replace function dispatch._workspace_is_paused(p_workspace_id uuid)
returns boolean
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    return exists (
        select from dispatch.workspace_pause as p
        where p.workspace_id = p_workspace_id and p.released_at is null
    );
end;
$fn$;

comment on function dispatch._workspace_is_paused(uuid) is
$doc$Tell whether a pause of the workspace is open: the one place that reads it.

Errors: none.$doc$;
-- end sql/30_functions/pause/_workspace_is_paused.sql

-- begin sql/30_functions/pause/pause_workspace.sql
create or replace function dispatch.pause_workspace(
    p_workspace_id uuid,
    p_actor_type text,
    p_actor_id uuid default null,
    p_acting_run_id uuid default null,
    p_reason text default null
)
returns boolean
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_now timestamptz;
    v_id constant uuid := dispatch._uuid_v7(dispatch._uuid_tick());
begin
    perform dispatch._require_workspace(p_workspace_id);
    if p_reason is null or char_length(btrim(p_reason, E' \t\n\r')) not between 1 and 500 then
        perform dispatch._raise(
            'PD400', 'pause reason missing or too long', 'p_reason', '1 to 500 characters.'
        );
    end if;
    perform dispatch._check_pause_actor(
        p_workspace_id, p_actor_type, p_actor_id, p_acting_run_id
    );
    v_now := dispatch.clock();
    insert into dispatch.workspace_pause (
        workspace_id, id, reason, paused_at, paused_by_type, paused_by_id
    )
    values (
        p_workspace_id, v_id, btrim(p_reason, E' \t\n\r'), v_now, p_actor_type, p_actor_id
    )
    on conflict (workspace_id) where released_at is null do nothing;
    return found;
end;
$fn$;

comment on function dispatch.pause_workspace(uuid, text, uuid, uuid, text) is
$doc$Stop admission, claims, reclaim and promotion in a workspace; true when this call paused
it.

p_reason has 1 to 500 characters after trimming. A repeat keeps the first record and is false.
Runs are left as they are: what is in hand may be started, completed and failed. Assignments
made meanwhile are stored and remembered for replay. Members and the system may, agents may not.
Rule: admission 7.1.
Errors: PD400 missing or malformed argument; PD403 actor is an agent or no member; PD404
workspace not found.$doc$;
-- end sql/30_functions/pause/pause_workspace.sql

-- begin sql/30_functions/pause/resume_workspace.sql
create or replace function dispatch.resume_workspace(
    p_workspace_id uuid,
    p_actor_type text,
    p_actor_id uuid default null,
    p_acting_run_id uuid default null,
    p_reason text default null
)
returns boolean
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_now timestamptz;
begin
    perform dispatch._require_workspace(p_workspace_id);
    if char_length(btrim(p_reason, E' \t\n\r')) > 500 then
        perform dispatch._raise(
            'PD400', 'resume reason too long', 'p_reason', 'at most 500 characters.'
        );
    end if;
    perform dispatch._check_pause_actor(
        p_workspace_id, p_actor_type, p_actor_id, p_acting_run_id
    );
    v_now := dispatch.clock();
    update dispatch.workspace_pause as p
    set
        released_at = v_now,
        released_by_type = p_actor_type,
        released_by_id = p_actor_id,
        release_reason = nullif(btrim(p_reason, E' \t\n\r'), '')
    where p.workspace_id = p_workspace_id and p.released_at is null;
    if not found then
        return false;
    end if;
    perform dispatch._replay_assignments(p_workspace_id, null);
    perform dispatch._notify_runtimes(array(
        select r.id from dispatch.runtime as r where r.workspace_id = p_workspace_id
    ));
    return true;
end;
$fn$;

comment on function dispatch.resume_workspace(uuid, text, uuid, uuid, text) is
$doc$End a workspace's pause; true when this call ended it.

In the same transaction the assignments that the pause refused are replayed, oldest first,
through all gates; nothing else is queued, and what waited in the queue is claimed in its order.
p_reason may be NULL or blank, at most 500 characters. Members and the system may, agents may
not. Rule: admission 7.1 and 7.4.
Errors: PD400 missing or malformed argument; PD403 actor is an agent or no member; PD404
workspace not found; PD409 pending slot contended.$doc$;
-- end sql/30_functions/pause/resume_workspace.sql

-- begin sql/30_functions/predicate/_check_given.sql
create or replace function dispatch._check_given(p_names text[], p_are_given boolean[])
returns void
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    for v_i in 1..cardinality(p_names) loop
        if not p_are_given[v_i] then
            perform dispatch._raise(
                'PD400', 'argument missing', p_names[v_i], 'give a value, not NULL.'
            );
        end if;
    end loop;
end;
$fn$;

comment on function dispatch._check_given(text[], boolean[]) is
$doc$Refuse the first argument that is not given; p_names are the arguments' names in order.

Errors: PD400 argument missing.$doc$;
-- end sql/30_functions/predicate/_check_given.sql

-- begin sql/30_functions/predicate/_run_target.sql
-- The stored status of a leader's runtime counts, not its age: the predicate reads no clock.
create or replace function dispatch._run_target(
    p_workspace_id uuid,
    p_assignee_type text,
    p_assignee_id uuid,
    out agent_id uuid,
    out why text
)
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_is_squad constant boolean := p_assignee_type = 'squad';
    v_wanted uuid := p_assignee_id;
    v_squad_archived_at timestamptz;
    v_archived_at timestamptz;
    v_runtime uuid;
    v_status text;
    v_offline_reason text;
begin
    if v_is_squad then
        select s.leader_id, s.archived_at
        into v_wanted, v_squad_archived_at
        from dispatch.squad as s
        where s.workspace_id = p_workspace_id and s.id = p_assignee_id;
    end if;
    select a.id, a.archived_at, a.runtime_id, rt.status, rt.offline_reason
    into agent_id, v_archived_at, v_runtime, v_status, v_offline_reason
    from dispatch.agent as a
    left join dispatch.runtime as rt
        on rt.workspace_id = p_workspace_id and rt.id = a.runtime_id
    where a.workspace_id = p_workspace_id and a.id = v_wanted;
    why := case
        when v_is_squad and (
            agent_id is null or v_squad_archived_at is not null or v_archived_at is not null
        ) then 'squad_unavailable'
        when v_archived_at is not null then 'archived'
        when v_runtime is null then 'unbound'
        when v_status = 'offline' and v_offline_reason = 'not_executable'
            then 'runtime_unusable'
        when v_is_squad and v_status is distinct from 'online' then 'leader_offline'
    end;
    agent_id := coalesce(agent_id, p_assignee_id);
end;
$fn$;

comment on function dispatch._run_target(uuid, text, uuid) is
$doc$Give the agent that would run an assignee's work, and the word with which it cannot.

The agent itself, or a squad's leader. An agent may be offline, since its run waits; a squad
needs its leader's runtime online. An assignee that is not in the workspace is answered with its
own id, which no invoke gate admits.
Errors: none.$doc$;
-- end sql/30_functions/predicate/_run_target.sql

-- begin sql/30_functions/predicate/_standing_run.sql
-- Two look-ups instead of one over four statuses: each fits the condition of one partial index.
create or replace function dispatch._standing_run(
    p_workspace_id uuid,
    p_issue dispatch.issue,
    p_agent_id uuid,
    p_source text,
    p_is_create boolean,
    p_actor_type text,
    p_actor_id uuid
)
returns text
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_is_self constant boolean := p_source = 'assign'
        and not p_is_create
        and p_issue.assignee_type = 'agent'
        and p_actor_type = 'agent'
        and p_actor_id is not distinct from p_agent_id;
begin
    if not v_is_self and p_source <> 'status' then
        return null;
    elsif exists (
        select from dispatch.run as r
        where r.workspace_id = p_workspace_id
            and r.agent_id = p_agent_id
            and r.issue_id = p_issue.id
            and r.status in ('queued', 'dispatched')
    ) then
        return case when v_is_self then 'active_self_assignment' else 'already_pending' end;
    elsif v_is_self and exists (
        select from dispatch.run as r
        where r.workspace_id = p_workspace_id
            and r.agent_id = p_agent_id
            and r.lane = p_issue.id
            and r.status in ('dispatched', 'waiting_local_directory', 'running')
    ) then
        return 'active_self_assignment';
    end if;
    return null;
end;
$fn$;

comment on function dispatch._standing_run(
    uuid, dispatch.issue, uuid, text, boolean, text, uuid
) is
$doc$Give the word with which a run of the pair that stands already keeps a write from starting
one.

A promotion is kept back by a run that was not started yet. An agent that assigns an issue to
itself is kept back by any active run of it there; a deferred run is not active. NULL when none
is in the way.
Errors: none.$doc$;
-- end sql/30_functions/predicate/_standing_run.sql

-- begin sql/30_functions/predicate/_start_signal.sql
create or replace function dispatch._start_signal(
    p_workspace_id uuid,
    p_issue dispatch.issue,
    p_prev_status text,
    p_source text,
    p_status_changed boolean,
    p_actor_type text,
    p_acting_run_id uuid
)
returns text
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    if num_nulls(p_issue.assignee_type, p_issue.assignee_id) > 0 then
        return 'no_assignee';
    elsif p_issue.assignee_type not in ('agent', 'squad') then
        return 'member_assignee';
    elsif p_issue.status = 'backlog' then
        return 'parked_in_backlog';
    elsif p_source = 'assign' then
        return null;
    elsif not p_status_changed or p_prev_status is distinct from 'backlog' then
        return 'not_a_start_signal';
    elsif p_issue.status in ('done', 'cancelled') then
        return 'closed';
    elsif p_actor_type = 'agent' and p_acting_run_id is not null and exists (
        select from dispatch.run as r
        where r.workspace_id = p_workspace_id
            and r.id = p_acting_run_id
            and r.issue_id = p_issue.id
    ) then
        return 'self_loop';
    end if;
    return null;
end;
$fn$;

comment on function dispatch._start_signal(
    uuid, dispatch.issue, text, text, boolean, text, uuid
) is
$doc$Give the word with which a write is no signal to start work; NULL when it is one.

An agent that promotes the very issue of its acting run does not start itself again.
Errors: none.$doc$;
-- end sql/30_functions/predicate/_start_signal.sql

-- begin sql/30_functions/predicate/will_enqueue_run.sql
-- Locks nothing, reads no clock, writes nothing: what it answers is asked again by the agent
-- gate of admission, under the agent's lock. The invoke gate stands before the target's state,
-- so that a caller without the right learns nothing about it.
create or replace function dispatch.will_enqueue_run(
    p_workspace_id uuid,
    p_issue dispatch.issue,
    p_prev_status text,
    p_is_create boolean,
    p_assignee_changed boolean,
    p_status_changed boolean,
    p_actor_type text,
    p_actor_id uuid default null,
    p_acting_run_id uuid default null,
    p_check_access boolean default true,
    out will_run boolean,
    out agent_id uuid,
    out squad_id uuid,
    out source text,
    out why text
)
language plpgsql
stable
parallel safe
security definer
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_agent uuid;
    v_source text;
begin
    perform dispatch._check_ids(array['p_workspace_id'], array[p_workspace_id]);
    if num_nulls(
        p_issue.status, p_is_create, p_assignee_changed, p_status_changed, p_actor_type,
        p_check_access
    ) > 0 then
        perform dispatch._check_given(
            array[
                'p_issue', 'p_is_create', 'p_assignee_changed', 'p_status_changed',
                'p_actor_type', 'p_check_access'
            ],
            array[
                p_issue.status is not null, p_is_create is not null,
                p_assignee_changed is not null, p_status_changed is not null,
                p_actor_type is not null, p_check_access is not null
            ]
        );
    end if;
    v_source := case when p_is_create or p_assignee_changed then 'assign' else 'status' end;
    will_run := false;
    why := dispatch._start_signal(
        p_workspace_id, p_issue, p_prev_status, v_source, p_status_changed, p_actor_type,
        p_acting_run_id
    );
    if why is not null then
        return;
    end if;

    select t.agent_id, t.why
    into v_agent, why
    from dispatch._run_target(p_workspace_id, p_issue.assignee_type, p_issue.assignee_id) as t;
    if p_check_access and not dispatch._may_invoke(
        p_workspace_id, v_agent, p_actor_type,
        dispatch._resolve_actor(p_workspace_id, p_actor_type, p_actor_id, p_acting_run_id)
    ) then
        why := 'not_invocable';
    elsif why is null then
        why := dispatch._standing_run(
            p_workspace_id, p_issue, v_agent, v_source, p_is_create, p_actor_type, p_actor_id
        );
    end if;
    if why is null then
        will_run := true;
        agent_id := v_agent;
        squad_id := case when p_issue.assignee_type = 'squad' then p_issue.assignee_id end;
        source := v_source;
    end if;
end;
$fn$;

comment on function dispatch.will_enqueue_run(
    uuid, dispatch.issue, text, boolean, boolean, boolean, text, uuid, uuid, boolean
) is
$doc$Decide whether a write to an issue starts a run, and of which agent.

p_issue is the row after the write, p_prev_status its status before. Creating an issue and
writing its assignee are an assignment (source assign), which backlog alone parks; else only
leaving backlog for an open status starts a run (source status). A squad's run is its leader's.
why is NULL when will_run, else the first word that fits: no_assignee, member_assignee,
parked_in_backlog, not_a_start_signal, closed, self_loop, not_invocable, archived, unbound,
runtime_unusable (for a squad first squad_unavailable, last leader_offline),
active_self_assignment, already_pending; the other columns are then NULL. p_check_access false
skips the invoke gate, which a write asks for itself. Rule: issue-to-run 3.
Errors: PD400 missing argument; with p_check_access also those of a wrong actor (PD400,
PD403).$doc$;
-- end sql/30_functions/predicate/will_enqueue_run.sql

-- begin sql/30_functions/recovery/_drop_superseded.sql
-- Locks: run rows, skip locked, so the caller may hold agents.
create or replace function dispatch._drop_superseded(
    p_workspace_id uuid,
    p_agent_ids uuid[],
    p_now timestamptz
)
returns integer
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_old record;
    v_dropped integer := 0;
begin
    for v_old in
        select o.run_id, o.live_id, o.is_pending
        from dispatch._superseded_retries(p_workspace_id, p_agent_ids) as o
    loop
        continue when not dispatch._try_lock_run(p_workspace_id, v_old.run_id, '{deferred}');
        if v_old.is_pending then
            continue when not dispatch._try_lock_run(
                p_workspace_id, v_old.live_id, '{queued,dispatched}'
            );
            perform dispatch._record_first_wake(p_workspace_id, v_old.live_id);
            perform dispatch._record_first_wake(p_workspace_id, v_old.run_id);
            perform dispatch._hand_over(p_workspace_id, v_old.run_id, v_old.live_id, false);
        end if;
        v_dropped := v_dropped + dispatch._cancel_runs(
            p_workspace_id, array[v_old.run_id], 'superseded by another run of the pair', p_now
        );
    end loop;
    return v_dropped;
end;
$fn$;

comment on function dispatch._drop_superseded(uuid, uuid[], timestamptz) is
$doc$Cancel the deferred retries of these agents whose pair has another live run, and hand that
run their wakes. Returns how many.

Rule: issue-to-run 4.
Errors: none.$doc$;
-- end sql/30_functions/recovery/_drop_superseded.sql

-- begin sql/30_functions/recovery/_hand_over.sql
-- The caller holds the target's run row, or has just inserted it. Rows that were merged or
-- absorbed elsewhere are marked, so that they are counted where they were decided and nowhere
-- else. A run may get the same wakes along two ways, by a rerun and by the retry of one run; a
-- wake that it has already is not added again.
create or replace function dispatch._hand_over(
    p_workspace_id uuid,
    p_from_run_id uuid,
    p_to_run_id uuid,
    p_is_owed_only boolean,
    p_is_first boolean default false
)
returns void
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_known bigint[] := '{}'::bigint[];
begin
    if not p_is_owed_only then
        with known as (
            update dispatch.run_trigger as o
            set count = greatest(o.count, t.count), last_at = greatest(o.last_at, t.last_at)
            from dispatch.run_trigger as t
            where t.workspace_id = p_workspace_id
                and t.run_id = p_from_run_id
                and o.workspace_id = p_workspace_id
                and o.run_id = p_to_run_id
                and o.inherited
                and (t.inherited or not p_is_first)
                and o.at = t.at
                and o.source = t.source
                and o.reason = t.reason
                and o.payload = t.payload
                and o.actor_type = t.actor_type
                and o.actor_id is not distinct from t.actor_id
                and o.originator_id is not distinct from t.originator_id
                and o.comment_id is not distinct from t.comment_id
                and o.idempotency_key is not distinct from t.idempotency_key
            returning t.seq
        )
        select coalesce(array_agg(k.seq), '{}'::bigint[]) into v_known from known as k;
    end if;
    insert into dispatch.run_trigger (
        workspace_id, run_id, seq, at, last_at, outcome, source, reason, payload,
        idempotency_key, comment_id, actor_type, actor_id, originator_id, accountable_id,
        attribution_source, evidence_kind, evidence_id, delegated_from_run_id, count, inherited
    )
    select
        p_workspace_id, p_to_run_id,
        coalesce((
            select max(o.seq)
            from dispatch.run_trigger as o
            where o.workspace_id = p_workspace_id and o.run_id = p_to_run_id
        ), 0) + row_number() over (order by t.seq),
        t.at, t.last_at, t.outcome, t.source, t.reason, t.payload, t.idempotency_key,
        t.comment_id, t.actor_type, t.actor_id, t.originator_id, t.accountable_id,
        t.attribution_source, t.evidence_kind, t.evidence_id, t.delegated_from_run_id,
        case when p_is_owed_only then t.count - t.delivered_count else t.count end, true
    from dispatch.run_trigger as t
    where t.workspace_id = p_workspace_id
        and t.run_id = p_from_run_id
        and (not p_is_owed_only or t.count > t.delivered_count)
        and not t.seq = any(v_known);
    -- What was handed over is not owed here any more.
    update dispatch.run_trigger as t
    set delivered_count = t.count
    where t.workspace_id = p_workspace_id
        and t.run_id = p_from_run_id
        and t.count > t.delivered_count;
end;
$fn$;

comment on function dispatch._hand_over(uuid, uuid, uuid, boolean, boolean) is
$doc$Append a run's wakes to those of another run: all of them, or only those it owes.

p_is_first says that the other run has none of this run's own wakes yet.

Errors: none.$doc$;
-- end sql/30_functions/recovery/_hand_over.sql

-- begin sql/30_functions/recovery/_inherit_wakes.sql
-- A retry that has no records stands for the one wake of its parent, under its own name; that
-- wake comes with the parent.
create or replace function dispatch._inherit_wakes(
    p_workspace_id uuid,
    p_from_run_ids uuid[],
    p_to_run_id uuid
)
returns void
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_from uuid;
begin
    foreach v_from in array p_from_run_ids loop
        continue when not exists (
            select
            from dispatch.run_trigger as t
            where t.workspace_id = p_workspace_id and t.run_id = v_from
        ) and dispatch._is_retry_of(p_workspace_id, v_from, p_from_run_ids[1]);
        perform dispatch._record_first_wake(p_workspace_id, v_from);
        perform dispatch._hand_over(p_workspace_id, v_from, p_to_run_id, false, true);
    end loop;
end;
$fn$;

comment on function dispatch._inherit_wakes(uuid, uuid[], uuid) is
$doc$Give a run all the wakes that other runs stand for, in the order given, each once; the
others may be retries of the first.

Errors: none.$doc$;
-- end sql/30_functions/recovery/_inherit_wakes.sql

-- begin sql/30_functions/recovery/_is_child_of.sql
create or replace function dispatch._is_child_of(
    p_workspace_id uuid,
    p_run_id uuid,
    p_failure_reason text
)
returns boolean
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    return exists (
        select
        from dispatch.run_detail as d
        inner join dispatch.run_detail as p
            on p.workspace_id = d.workspace_id and p.run_id = d.parent_run_id
        where d.workspace_id = p_workspace_id
            and p.workspace_id = p_workspace_id
            and d.run_id = p_run_id
            and p.failure_reason = p_failure_reason
    );
end;
$fn$;

comment on function dispatch._is_child_of(uuid, uuid, text) is
$doc$Tell whether a run is the retry of one that failed for this reason.

Errors: none.$doc$;
-- end sql/30_functions/recovery/_is_child_of.sql

-- begin sql/30_functions/recovery/_is_retry_of.sql
create or replace function dispatch._is_retry_of(
    p_workspace_id uuid,
    p_run_id uuid,
    p_of_run_id uuid
)
returns boolean
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_run uuid := p_run_id;
begin
    while v_run is not null loop
        select d.parent_run_id
        into v_run
        from dispatch.run_detail as d
        where d.workspace_id = p_workspace_id and d.run_id = v_run;
        if v_run = p_of_run_id then
            return true;
        end if;
    end loop;
    return false;
end;
$fn$;

comment on function dispatch._is_retry_of(uuid, uuid, uuid) is
$doc$Tell whether a run is the automatic retry of another one, or the retry of its retry.

Errors: none.$doc$;
-- end sql/30_functions/recovery/_is_retry_of.sql

-- begin sql/30_functions/recovery/_is_retryable.sql
create or replace function dispatch._is_retryable(p_failure_reason text)
returns boolean
language sql
immutable
parallel safe
as $fn$
select p_failure_reason in (
    'runtime_offline', 'runtime_recovery', 'timeout', 'codex_semantic_inactivity',
    'agent_error.provider_network', 'skill_bundle_unavailable'
);
$fn$;

comment on function dispatch._is_retryable(text) is
$doc$Tell whether a failure for this reason may be repeated automatically. Rule: issue-to-run 4.

Errors: none.$doc$;
-- end sql/30_functions/recovery/_is_retryable.sql

-- begin sql/30_functions/recovery/_lock_owing.sql
-- A follow-up locks the run's issue and agent, and both are locked before runs. Only the few
-- runs that owe wakes need it, so the others pay for one look at an index.
create or replace function dispatch._lock_owing(p_workspace_id uuid, p_run_ids uuid[])
returns uuid[]
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_owing constant uuid[] := dispatch._owing_runs(p_workspace_id, p_run_ids);
begin
    if cardinality(v_owing) > 0 then
        perform dispatch._lock_run_owners(p_workspace_id, v_owing);
    end if;
    return v_owing;
end;
$fn$;

comment on function dispatch._lock_owing(uuid, uuid[]) is
$doc$Keep the issues and agents of those runs that owe wakes from being deleted or archived, and
give those runs.

Errors: none.$doc$;
-- end sql/30_functions/recovery/_lock_owing.sql

-- begin sql/30_functions/recovery/_lock_run_owners.sql
-- Locks: issues FOR KEY SHARE by id, then agents by id: what the successor of a run will refer
-- to, taken before the run's own row. Agents FOR KEY SHARE, or FOR UPDATE, for which every
-- enqueue waits.
create or replace function dispatch._lock_run_owners(
    p_workspace_id uuid,
    p_run_ids uuid[],
    p_is_exclusive boolean default false
)
returns void
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_issues uuid[];
    v_agents uuid[];
begin
    select array_agg(o.issue_id), array_agg(o.agent_id)
    into v_issues, v_agents
    from unnest(p_run_ids) as i (id)
    cross join lateral (
        select r.issue_id, r.agent_id
        from dispatch.run as r
        where r.workspace_id = p_workspace_id and r.id = i.id
        limit 1
    ) as o;
    perform
    from (select distinct u.id from unnest(v_issues) as u (id) order by u.id) as i
    cross join lateral (
        select
        from dispatch.issue as s
        where s.workspace_id = p_workspace_id and s.id = i.id
        limit 1
        for key share
    ) as k;
    if p_is_exclusive then
        perform dispatch._lock_claim_agents(p_workspace_id, v_agents, true);
    else
        perform dispatch._lock_agents(p_workspace_id, v_agents);
    end if;
end;
$fn$;

comment on function dispatch._lock_run_owners(uuid, uuid[], boolean) is
$doc$Keep the issues and agents of these runs from being deleted or archived until the
transaction ends; with p_is_exclusive also the agents from being woken.

Errors: none.$doc$;
-- end sql/30_functions/recovery/_lock_run_owners.sql

-- begin sql/30_functions/recovery/_owing_runs.sql
create or replace function dispatch._owing_runs(p_workspace_id uuid, p_run_ids uuid[])
returns uuid[]
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    if cardinality(p_run_ids) = 1 then
        if exists (
            select
            from dispatch.run_trigger as t
            where t.workspace_id = p_workspace_id
                and t.run_id = p_run_ids[1]
                and t.count > t.delivered_count
        ) then
            return p_run_ids;
        end if;
        return '{}'::uuid[];
    end if;
    return array(
        select i.id
        from unnest(p_run_ids) as i (id)
        where exists (
            select
            from dispatch.run_trigger as t
            where t.workspace_id = p_workspace_id
                and t.run_id = i.id
                and t.count > t.delivered_count
        )
    );
end;
$fn$;

comment on function dispatch._owing_runs(uuid, uuid[]) is
$doc$Give those of the runs that owe wakes: recorded on them, and delivered by no claim.

Errors: none.$doc$;
-- end sql/30_functions/recovery/_owing_runs.sql

-- begin sql/30_functions/recovery/_promote_due.sql
-- Locks: run rows, skip locked. The caller holds the agents FOR UPDATE, so no enqueue takes a
-- slot between the look at it and the update. A run that could not be promoted for longer than
-- a queued run may wait counts as due from then on, else the next sweep would take it at once.
-- Retries that another run has replaced go first, so that none of them takes the slot.
create or replace function dispatch._promote_due(
    p_workspace_id uuid,
    p_runtime_ids uuid[],
    p_agent_ids uuid[],
    p_max integer,
    p_now timestamptz
)
returns integer
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_deferred constant dispatch.run_status := 'deferred'::dispatch.run_status;
    v_promoted uuid[];
    v_run uuid;
begin
    if dispatch._workspace_is_paused(p_workspace_id) then
        return 0;
    end if;
    perform dispatch._drop_superseded(p_workspace_id, p_agent_ids, p_now);
    v_promoted := array(
        with due as materialized (
            select
                r.id, r.fire_at,
                row_number() over (
                    partition by r.agent_id, coalesce(r.issue_id, r.id)
                    order by r.priority desc, r.requested_at, r.id
                ) as place
            from unnest(p_runtime_ids) as rt (id)
            cross join lateral (
                select d.id, d.agent_id, d.issue_id, d.priority, d.requested_at, d.fire_at
                from dispatch.run as d
                where d.workspace_id = p_workspace_id
                    and d.runtime_id = rt.id
                    and d.status = 'deferred'
                    and d.fire_at <= p_now
                    and d.agent_id = any(p_agent_ids)
                    and not exists (
                        select
                        from dispatch.run as o
                        where o.workspace_id = p_workspace_id
                            and o.agent_id = d.agent_id
                            and o.issue_id = d.issue_id
                            and o.status in ('queued', 'dispatched')
                    )
                offset 0
            ) as r
        ),
        picked as materialized (
            select d.id from due as d where d.place = 1 order by d.fire_at, d.id limit p_max
        )
        select k.id
        from (select p.id from picked as p order by p.id) as p
        cross join lateral (
            select r.id
            from dispatch.run as r
            where r.workspace_id = p_workspace_id and r.id = p.id and r.status = v_deferred
            limit 1
            for no key update skip locked
        ) as k
    );
    foreach v_run in array v_promoted loop
        update dispatch.run as r
        set
            status = 'queued',
            fire_at = case
                when r.fire_at < p_now - dispatch.queued_ttl() then p_now else r.fire_at
            end
        where r.workspace_id = p_workspace_id and r.id = v_run;
    end loop;
    perform dispatch._notify_runtimes(array(
        select distinct m.runtime_id
        from unnest(v_promoted) as p (id)
        cross join lateral (
            select r.runtime_id
            from dispatch.run as r
            where r.workspace_id = p_workspace_id and r.id = p.id
            limit 1
        ) as m
    ));
    return cardinality(v_promoted);
end;
$fn$;

comment on function dispatch._promote_due(uuid, uuid[], uuid[], integer, timestamptz) is
$doc$Queue the deferred runs that are due at p_now and whose pending slot is free, one a pair.

Of several due runs of one issue and agent the one of highest priority goes first, then the
older. Returns how many moved. Rule: issue-to-run 4.
Errors: none.$doc$;
-- end sql/30_functions/recovery/_promote_due.sql

-- begin sql/30_functions/recovery/_queue_follow_up.sql
-- The run has just given up its pending slot in this transaction, so in nearly every case the
-- slot is free; where another run holds it, that run takes over what is owed.
create or replace function dispatch._queue_follow_up(p_workspace_id uuid, p_run_id uuid)
returns uuid
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_wake dispatch.wake;
    v_decision dispatch.decision;
begin
    select
        r.agent_id, d.reason, d.source,
        case
            when t.comment_id is not null and jsonb_typeof(d.payload) = 'object'
                then d.payload || jsonb_build_object('comment_id', t.comment_id)
            else d.payload
        end,
        null::text, r.issue_id, d.chat_session_id, d.autopilot_run_id, t.comment_id,
        r.priority, null::timestamptz, true, r.max_attempts, 1, r.runtime_id, t.actor_type,
        t.actor_id, null::uuid, t.originator_id, t.accountable_id, t.attribution_source,
        t.evidence_kind, t.evidence_id, t.delegated_from_run_id, null::uuid, null::uuid,
        null::uuid, d.squad_id, d.is_leader_run, null::text, null::text, null::text, false,
        array['agent', 'attribution', 'pause', 'duplicate', 'coalesce', 'allowance', 'record']
    into v_wake
    from dispatch.run as r
    inner join dispatch.run_detail as d
        on d.workspace_id = r.workspace_id and d.run_id = r.id
    inner join dispatch.run_trigger as t
        on t.workspace_id = r.workspace_id and t.run_id = r.id
    where r.workspace_id = p_workspace_id
        and d.workspace_id = p_workspace_id
        and t.workspace_id = p_workspace_id
        and r.id = p_run_id
        and t.count > t.delivered_count
    order by t.last_at desc, t.seq desc
    limit 1;
    if not found then
        return null;
    end if;
    select d.outcome, d.reason_code, d.run_id, d.agent_id, d.source, d.detail
    into v_decision
    from dispatch._admit_wakes(p_workspace_id, array[v_wake]) as d;
    if v_decision.outcome = 'absorbed' then
        perform dispatch._record_first_wake(p_workspace_id, v_decision.run_id);
    end if;
    perform dispatch._hand_over(p_workspace_id, p_run_id, v_decision.run_id, true);
    update dispatch.run_detail as d
    set follow_up_run_id = v_decision.run_id
    where d.workspace_id = p_workspace_id and d.run_id = p_run_id;
    return v_decision.run_id;
end;
$fn$;

comment on function dispatch._queue_follow_up(uuid, uuid) is
$doc$Queue one run for the wakes that came too late for this one, or append them to the run that
holds the slot; NULL when none is owed.

The follow-up keeps the run's reason and payload, which names the newest owed wake's comment if
that has one, and acts for that wake's originator.
Errors: as _admit_wakes.$doc$;
-- end sql/30_functions/recovery/_queue_follow_up.sql

-- begin sql/30_functions/recovery/_queue_retry.sql
-- Runs in the transaction of the failure. A retry never takes the pending slot from another
-- run: it hands that run what the failed one stood for.
create or replace function dispatch._queue_retry(
    p_workspace_id uuid,
    p_run_id uuid,
    p_now timestamptz
)
returns boolean
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_wake dispatch.wake;
    v_decision dispatch.decision;
begin
    select
        r.agent_id, d.reason, 'retry', d.payload, null::text, r.issue_id, d.chat_session_id,
        null::uuid, d.comment_id,
        case
            when d.chat_session_id is not null then greatest(r.priority, 3) else r.priority
        end,
        p_now + dispatch._retry_delay(d.failure_reason, r.attempt), false,
        dispatch._retry_ceiling(d.failure_reason, r.max_attempts), r.attempt + 1, r.runtime_id,
        d.actor_type, d.actor_id, null::uuid, d.originator_id, d.accountable_id,
        d.attribution_source, d.evidence_kind, d.evidence_id, d.delegated_from_run_id, r.id,
        null::uuid, null::uuid, d.squad_id, d.is_leader_run, null::text,
        case when d.failure_reason <> 'codex_semantic_inactivity' then d.session_id end,
        case when d.failure_reason <> 'codex_semantic_inactivity' then d.work_dir end,
        d.failure_reason = 'codex_semantic_inactivity',
        array['agent', 'attribution', 'pause', 'duplicate', 'coalesce', 'allowance', 'record']
    into v_wake
    from dispatch.run as r
    inner join dispatch.run_detail as d
        on d.workspace_id = r.workspace_id and d.run_id = r.id
    where r.workspace_id = p_workspace_id
        and d.workspace_id = p_workspace_id
        and r.id = p_run_id
        and dispatch._is_retryable(d.failure_reason)
        and r.attempt < dispatch._retry_ceiling(d.failure_reason, r.max_attempts)
        and d.autopilot_run_id is null
        and (r.issue_id is not null or d.chat_session_id is not null);
    if not found then
        return false;
    end if;
    select d.outcome, d.reason_code, d.run_id, d.agent_id, d.source, d.detail
    into v_decision
    from dispatch._admit_wakes(p_workspace_id, array[v_wake]) as d;
    if v_decision.outcome = 'absorbed' then
        perform dispatch._record_first_wake(p_workspace_id, v_decision.run_id);
        perform dispatch._record_first_wake(p_workspace_id, p_run_id);
    end if;
    perform dispatch._hand_over(p_workspace_id, p_run_id, v_decision.run_id, false);
    return true;
end;
$fn$;

comment on function dispatch._queue_retry(uuid, uuid, timestamptz) is
$doc$Queue the automatic retry of a run that has just failed; false when it gets none.

A retryable reason, attempts left, and an issue or a chat session are needed. The retry of a
lost runtime, and the later ones of a network fault, are deferred. The child copies the run's
work, attribution and, unless the agent had gone silent, its session and work directory. When
another run holds the pending slot, that run gets the wakes and no child is made. Rule:
issue-to-run 4.
Errors: as _admit_wakes.$doc$;
-- end sql/30_functions/recovery/_queue_retry.sql

-- begin sql/30_functions/recovery/_reclaim_stale.sql
-- Locks: run rows, skip locked. Capacity is not asked: a stale dispatch counts already. The
-- rows are moved one by one by their key, which is the same walk whatever the tables held when
-- the plan was made.
create or replace function dispatch._reclaim_stale(
    p_workspace_id uuid,
    p_runtime_ids uuid[],
    p_max integer,
    p_lease interval,
    p_now timestamptz
)
returns uuid[]
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_dispatched constant dispatch.run_status := 'dispatched'::dispatch.run_status;
    v_reclaimed uuid[];
    v_run uuid;
begin
    if dispatch._workspace_is_paused(p_workspace_id) then
        return '{}'::uuid[];
    end if;
    v_reclaimed := array(
        with stale as materialized (
            select r.id
            from unnest(p_runtime_ids) as rt (id)
            cross join lateral (
                select s.id, s.agent_id, s.priority, s.dispatched_at
                from dispatch.run as s
                where s.workspace_id = p_workspace_id
                    and s.runtime_id = rt.id
                    and s.status = 'dispatched'
                    and s.dispatched_at < p_now - dispatch.claim_recovery_window()
                    and (s.lease_expires_at is null or s.lease_expires_at < p_now)
                offset 0
            ) as r
            cross join lateral (
                select
                from dispatch.agent as a
                where a.workspace_id = p_workspace_id
                    and a.id = r.agent_id
                    and a.status = 'active'
                limit 1
            ) as g
            order by r.priority desc, r.dispatched_at, r.id
            limit p_max
        )
        select k.id
        from (select s.id from stale as s order by s.id) as s
        cross join lateral (
            select r.id
            from dispatch.run as r
            where r.workspace_id = p_workspace_id
                and r.id = s.id
                and r.status = v_dispatched
                and r.dispatched_at < p_now - dispatch.claim_recovery_window()
                and (r.lease_expires_at is null or r.lease_expires_at < p_now)
            limit 1
            for no key update skip locked
        ) as k
    );
    foreach v_run in array v_reclaimed loop
        update dispatch.run as r
        set
            claim_no = r.claim_no + 1,
            dispatched_at = p_now,
            lease_expires_at = p_now + p_lease
        where r.workspace_id = p_workspace_id and r.id = v_run;
    end loop;
    return v_reclaimed;
end;
$fn$;

comment on function dispatch._reclaim_stale(uuid, uuid[], integer, interval, timestamptz) is
$doc$Hand out again up to p_max claims of these runtimes that were never confirmed.

Stale is a dispatched run older than claim_recovery_window() without a live lease. The run stays
dispatched and gets the next claim number; its attempt stays. Returns the runs. Rule:
issue-to-run 4.
Errors: none.$doc$;
-- end sql/30_functions/recovery/_reclaim_stale.sql

-- begin sql/30_functions/recovery/_rerun_wake.sql
create or replace function dispatch._rerun_wake(
    p_workspace_id uuid,
    p_run_id uuid,
    p_actor_type text,
    p_actor_id uuid,
    p_acting_run_id uuid
)
returns dispatch.wake
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_wake dispatch.wake;
begin
    select
        r.agent_id, d.reason, 'rerun', d.payload, r.issue_id, d.chat_session_id, d.comment_id,
        r.priority, r.max_attempts, d.squad_id, d.is_leader_run, r.id, 'rerun', r.id
    into
        v_wake.agent_id, v_wake.reason, v_wake.source, v_wake.payload, v_wake.issue_id,
        v_wake.chat_session_id, v_wake.comment_id, v_wake.priority, v_wake.max_attempts,
        v_wake.squad_id, v_wake.is_leader_run, v_wake.rerun_of_run_id, v_wake.evidence_kind,
        v_wake.evidence_id
    from dispatch.run as r
    inner join dispatch.run_detail as d
        on d.workspace_id = r.workspace_id and d.run_id = r.id
    where r.workspace_id = p_workspace_id
        and d.workspace_id = p_workspace_id
        and r.id = p_run_id;
    v_wake.coalesce := false;
    v_wake.force_fresh := true;
    v_wake.actor_type := p_actor_type;
    v_wake.actor_id := p_actor_id;
    v_wake.acting_run_id := p_acting_run_id;
    v_wake.skip := array['duplicate', 'coalesce', 'allowance'];
    return v_wake;
end;
$fn$;

comment on function dispatch._rerun_wake(uuid, uuid, text, uuid, uuid) is
$doc$Make the wake that asks for a run's work once more; its agent is NULL when there is no such
run.

Errors: none.$doc$;
-- end sql/30_functions/recovery/_rerun_wake.sql

-- begin sql/30_functions/recovery/_retry_ceiling.sql
create or replace function dispatch._retry_ceiling(
    p_failure_reason text,
    p_max_attempts integer
)
returns integer
language sql
immutable
parallel safe
as $fn$
select case
    when p_max_attempts <= 1 then p_max_attempts
    when p_failure_reason = 'agent_error.provider_network' then greatest(p_max_attempts, 3)
    else p_max_attempts
end;
$fn$;

comment on function dispatch._retry_ceiling(text, integer) is
$doc$Give how many attempts a run may have in all when it fails for this reason.

A fault of the provider's network is worth a third attempt, unless retries are switched off.
Rule: issue-to-run 4.
Errors: none.$doc$;
-- end sql/30_functions/recovery/_retry_ceiling.sql

-- begin sql/30_functions/recovery/_retry_delay.sql
create or replace function dispatch._retry_delay(p_failure_reason text, p_attempt integer)
returns interval
language sql
immutable
parallel safe
as $fn$
select case
    when p_failure_reason = 'runtime_offline' then interval '1 second'
    when p_failure_reason = 'agent_error.provider_network' and p_attempt >= 2
        then interval '5 seconds'
end;
$fn$;

comment on function dispatch._retry_delay(text, integer) is
$doc$Give how long the retry of attempt p_attempt waits; NULL when it is queued at once.

After the loss of a runtime it is always deferred, so that promotion, which asks for a fresh
runtime, decides when. Rule: issue-to-run 4.
Errors: none.$doc$;
-- end sql/30_functions/recovery/_retry_delay.sql

-- begin sql/30_functions/recovery/_settle_claimed.sql
-- Locks: issues FOR KEY SHARE, skip locked. The claim holds agents, which come after issues, so
-- it waits for none: a run whose issue somebody holds keeps what it owes until it ends.
create or replace function dispatch._settle_claimed(p_workspace_id uuid, p_run_ids uuid[])
returns void
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_run uuid;
    v_issue uuid;
begin
    foreach v_run in array dispatch._owing_runs(p_workspace_id, p_run_ids) loop
        select r.issue_id
        into v_issue
        from dispatch.run as r
        where r.workspace_id = p_workspace_id and r.id = v_run;
        if v_issue is not null then
            perform
            from dispatch.issue as s
            where s.workspace_id = p_workspace_id and s.id = v_issue
            for key share skip locked;
            continue when not found;
        end if;
        perform dispatch._queue_follow_up(p_workspace_id, v_run);
    end loop;
end;
$fn$;

comment on function dispatch._settle_claimed(uuid, uuid[]) is
$doc$Queue a follow-up for each of these just started runs whose claim had no room for all its
wakes.

Errors: as _admit_wakes.$doc$;
-- end sql/30_functions/recovery/_settle_claimed.sql

-- begin sql/30_functions/recovery/_settle_owed.sql
create or replace function dispatch._settle_owed(p_workspace_id uuid, p_run_ids uuid[])
returns void
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_owing uuid[] := dispatch._owing_runs(p_workspace_id, p_run_ids);
    v_run uuid;
begin
    if cardinality(v_owing) > 1 then
        v_owing := array(select u.id from unnest(v_owing) as u (id) order by u.id);
    end if;
    foreach v_run in array v_owing loop
        perform dispatch._queue_follow_up(p_workspace_id, v_run);
    end loop;
end;
$fn$;

comment on function dispatch._settle_owed(uuid, uuid[]) is
$doc$Queue a follow-up for each of these runs that owes wakes; the runs gave up their pending
slot.

Errors: as _admit_wakes.$doc$;
-- end sql/30_functions/recovery/_settle_owed.sql

-- begin sql/30_functions/recovery/_silent_runtimes.sql
create or replace function dispatch._silent_runtimes(
    p_workspace_id uuid,
    p_since timestamptz,
    p_status text default null
)
returns uuid[]
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    return array(
        select r.id
        from dispatch.runtime as r
        where r.workspace_id = p_workspace_id
            and coalesce(r.last_seen_at, r.updated_at) < p_since
            and (p_status is null or r.status = p_status)
    );
end;
$fn$;

comment on function dispatch._silent_runtimes(uuid, timestamptz, text) is
$doc$Give the runtimes of a workspace that were not seen since p_since, of one status where it
is given.

Errors: none.$doc$;
-- end sql/30_functions/recovery/_silent_runtimes.sql

-- begin sql/30_functions/recovery/_superseded_agents.sql
create or replace function dispatch._superseded_agents(p_workspace_id uuid)
returns uuid[]
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_armed constant uuid[] := array(
        select distinct r.agent_id
        from dispatch.run as r
        where r.workspace_id = p_workspace_id
            and r.status = 'deferred'
            and r.attempt > 1
            and r.claim_no = 0
            and r.issue_id is not null
    );
begin
    return array(
        select distinct s.agent_id
        from dispatch._superseded_retries(p_workspace_id, v_armed) as s
    );
end;
$fn$;

comment on function dispatch._superseded_agents(uuid) is
$doc$Give the agents of a workspace that have a retry which another run has replaced.

Errors: none.$doc$;
-- end sql/30_functions/recovery/_superseded_agents.sql

-- begin sql/30_functions/recovery/_superseded_retries.sql
-- A retry that waits for its time holds no slot, so another run of the pair may have come
-- first, and then that run does the work. Against a run that has begun only a rerun counts: its
-- wakes are the retry's own, while a run of other wakes leaves the retry to wait for the lane.
create or replace function dispatch._superseded_retries(
    p_workspace_id uuid,
    p_agent_ids uuid[]
)
returns table (run_id uuid, agent_id uuid, live_id uuid, is_pending boolean)
language plpgsql
stable
parallel safe
rows 10
set search_path = pg_catalog, pg_temp
as $fn$
begin
    return query
    select k.id, k.agent_id, l.id, l.is_pending
    from unnest(p_agent_ids) as g (id)
    cross join lateral (
        select r.id, r.agent_id, r.issue_id
        from dispatch.run as r
        where r.workspace_id = p_workspace_id
            and r.agent_id = g.id
            and r.status = 'deferred'
            and r.attempt > 1
            and r.claim_no = 0
            and r.issue_id is not null
        offset 0
    ) as k
    cross join lateral (
        select o.id, o.status in ('queued', 'dispatched') as is_pending
        from (
            select p.id, p.status
            from dispatch.run as p
            where p.workspace_id = p_workspace_id
                and p.agent_id = k.agent_id
                and p.issue_id = k.issue_id
                and p.status in ('queued', 'dispatched')
            union all
            select p.id, p.status
            from dispatch.run as p
            where p.workspace_id = p_workspace_id
                and p.agent_id = k.agent_id
                and p.lane = k.issue_id
                and p.status in ('dispatched', 'waiting_local_directory', 'running')
                and p.status <> 'dispatched'
                and exists (
                    select
                    from dispatch.run_detail as d
                    where d.workspace_id = p_workspace_id
                        and d.run_id = p.id
                        and d.rerun_of_run_id is not null
                )
        ) as o
        limit 1
    ) as l;
end;
$fn$;

comment on function dispatch._superseded_retries(uuid, uuid[]) is
$doc$List the deferred automatic retries of these agents whose issue and agent have another live
run, with that run and whether it still holds the pending slot.

A retry that a daemon has claimed and put off is none. Rule: issue-to-run 4.
Errors: none.$doc$;
-- end sql/30_functions/recovery/_superseded_retries.sql

-- begin sql/30_functions/recovery/_sweep_candidates.sql
-- Every sweep's condition stands here once. What a sweep may not touch is left out before the
-- limit, so it never stops the sweep from reaching what it must; an active run is found by the
-- index of active lanes, of which there are never more than the agents' capacities allow.
create or replace function dispatch._sweep_candidates(
    p_workspace_id uuid,
    p_sweep text,
    p_max integer,
    p_now timestamptz
)
returns setof dispatch._report
language plpgsql
stable
parallel safe
rows 10
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_stale constant uuid[] := array(
        select r.id
        from dispatch.runtime as r
        where r.workspace_id = p_workspace_id
            and (
                r.status <> 'online'
                or coalesce(r.last_seen_at, r.updated_at)
                < p_now - dispatch.runtime_freshness()
            )
    );
    v_lost constant uuid[] := dispatch._silent_runtimes(
        p_workspace_id, p_now - dispatch.reconnect_grace()
    );
    v_offline constant uuid[] := dispatch._silent_runtimes(
        p_workspace_id, p_now - dispatch.reconnect_grace(), 'offline'
    );
begin
    if p_sweep = 'queued' then
        return query
        select
            row_number() over ()::integer, q.id, q.claim_no, null::jsonb,
            'queued_expired'::text, 'nobody claimed the run in time'::text, null::text,
            null::text, false, null::interval
        from (
            select r.id, r.claim_no
            from dispatch.run as r
            where r.workspace_id = p_workspace_id
                and r.status = 'queued'
                and greatest(r.requested_at, r.fire_at) < p_now - dispatch.queued_ttl()
                and not dispatch._is_child_of(p_workspace_id, r.id, 'runtime_offline')
            order by greatest(r.requested_at, r.fire_at), r.id
            limit p_max
        ) as q;
        return;
    elsif p_sweep = 'reconnect' then
        return query
        select
            row_number() over ()::integer, q.id, q.claim_no, null::jsonb,
            'runtime_reconnect_timeout'::text, 'the runtime did not come back in time'::text,
            null::text, null::text, false, null::interval
        from (
            select r.id, r.claim_no
            from unnest(v_stale) as rt (id)
            cross join lateral (
                select d.id, d.claim_no, d.fire_at
                from dispatch.run as d
                where d.workspace_id = p_workspace_id
                    and d.runtime_id = rt.id
                    and d.status = 'deferred'
                    and d.fire_at < p_now - dispatch.reconnect_grace()
                    and d.attempt > 1
                    and d.claim_no = 0
                    and dispatch._is_child_of(p_workspace_id, d.id, 'runtime_offline')
                order by d.fire_at
                limit p_max
            ) as r
            order by r.fire_at, r.id
            limit p_max
        ) as q;
        return;
    end if;
    return query
    select
        row_number() over ()::integer, q.id, q.claim_no, null::jsonb,
        case p_sweep when 'offline' then 'runtime_offline' else 'timeout' end,
        case p_sweep when 'offline' then 'the runtime is offline' else 'task timed out' end,
        null::text, null::text, false, null::interval
    from (
        select r.id, r.claim_no
        from dispatch.run as r
        where r.workspace_id = p_workspace_id
            and r.status in ('dispatched', 'waiting_local_directory', 'running')
            and case p_sweep
                when 'dispatched' then
                    r.status = 'waiting_local_directory' and r.lease_expires_at < p_now
                    or r.status = 'dispatched'
                    and r.dispatched_at < p_now - dispatch.dispatch_timeout()
                    and (r.lease_expires_at is null or r.lease_expires_at < p_now)
                    and (not r.runtime_id = any(v_stale) or r.runtime_id = any(v_lost))
                when 'running' then
                    r.status = 'running'
                    and (
                        r.lease_expires_at < p_now
                        or r.started_at < p_now - dispatch.running_timeout()
                        and r.runtime_id = any(v_lost)
                    )
                when 'offline' then r.runtime_id = any(v_offline)
            end
        order by r.dispatched_at, r.id
        limit p_max
    ) as q;
end;
$fn$;

comment on function dispatch._sweep_candidates(uuid, text, integer, timestamptz) is
$doc$Give up to p_max runs that a sweep would end at p_now, as the reports that end them.

dispatched: claimed longer ago than dispatch_timeout() without a live lease, on a runtime that
is alive or lost for longer than reconnect_grace(), and waiting runs whose lease has run out.
running: a run whose own lease has run out, or older than running_timeout() on a runtime lost
for longer than the grace. offline: any active run of a runtime that is offline and lost for
longer than the grace. queued: older than queued_ttl() since the request, or since it was due;
never the retry of a lost runtime. reconnect: such a retry, due for longer than the grace and
never claimed, whose runtime is not fresh; what a daemon has put off waits on. Rule:
issue-to-run 4.
Errors: none.$doc$;
-- end sql/30_functions/recovery/_sweep_candidates.sql

-- begin sql/30_functions/recovery/_sweep_runs.sql
-- Locks: the candidates' issues and agents, then their rows, skip locked and rechecked: a run
-- whose lease was extended meanwhile is no candidate any more. Several sweeps at once share the
-- work.
create or replace function dispatch._sweep_runs(
    p_workspace_id uuid,
    p_sweep text,
    p_max integer
)
returns integer
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_material = off
set jit = off
as $fn$
declare
    v_now timestamptz := dispatch.clock();
    v_reports dispatch._report[];
    v_held uuid[] := '{}'::uuid[];
    v_report dispatch._report;
    v_count integer;
begin
    v_reports := array(
        select c from dispatch._sweep_candidates(p_workspace_id, p_sweep, p_max, v_now) as c
    );
    if cardinality(v_reports) = 0 then
        return 0;
    end if;
    perform dispatch._lock_run_owners(
        p_workspace_id, array(select r.run_id from unnest(v_reports) as r)
    );
    for v_report in
        select
            r.ord, r.run_id, r.claim_no, r.result, r.failure_reason, r.error, r.session_id,
            r.work_dir, r.session_lost, r.lease
        from unnest(v_reports) as r
        order by r.run_id
    loop
        if dispatch._try_lock_run(
            p_workspace_id, v_report.run_id,
            '{deferred,queued,dispatched,waiting_local_directory,running}'
        ) then
            v_held := v_held || v_report.run_id;
        end if;
    end loop;
    v_now := dispatch.clock();
    v_reports := array(
        select c
        from dispatch._sweep_candidates(p_workspace_id, p_sweep, p_max, v_now) as c
        where c.run_id = any(v_held)
    );
    select count(*)::integer
    into v_count
    from dispatch._fail_runs(
        p_workspace_id, v_reports,
        '{deferred,queued,dispatched,waiting_local_directory,running}'
    ) as t
    where t.applied;
    return v_count;
end;
$fn$;

comment on function dispatch._sweep_runs(uuid, text, integer) is
$doc$End up to p_max runs of a workspace that a sweep finds, each with its retry; returns how
many.

Errors: as _admit_wakes.$doc$;
-- end sql/30_functions/recovery/_sweep_runs.sql

-- begin sql/30_functions/recovery/_sweep_runtimes.sql
-- Locks: runtime rows, skip locked; a heartbeat that comes in between keeps its runtime online.
create or replace function dispatch._sweep_runtimes(
    p_workspace_id uuid,
    p_max integer,
    p_now timestamptz
)
returns integer
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_silent uuid[];
    v_count integer;
begin
    v_silent := array(
        select r.id
        from dispatch.runtime as r
        where r.workspace_id = p_workspace_id
            and r.status = 'online'
            and coalesce(r.last_seen_at, r.updated_at) < p_now - dispatch.runtime_freshness()
        order by r.id
        limit p_max
        for no key update skip locked
    );
    update dispatch.runtime as r
    set status = 'offline', updated_at = coalesce(r.last_seen_at, r.updated_at)
    where r.workspace_id = p_workspace_id and r.id = any(v_silent);
    get diagnostics v_count = row_count;
    return v_count;
end;
$fn$;

comment on function dispatch._sweep_runtimes(uuid, integer, timestamptz) is
$doc$Set up to p_max runtimes offline that are online and were last seen longer ago than
runtime_freshness(). Returns how many.

Errors: none.$doc$;
-- end sql/30_functions/recovery/_sweep_runtimes.sql

-- begin sql/30_functions/recovery/_sweeps.sql
create or replace function dispatch._sweeps()
returns text[]
language sql
immutable
parallel safe
as $fn$
select array['runtimes', 'dispatched', 'running', 'offline', 'queued', 'reconnect'];
$fn$;

comment on function dispatch._sweeps() is
$doc$Name the sweeps in their order.

Errors: none.$doc$;
-- end sql/30_functions/recovery/_sweeps.sql

-- begin sql/30_functions/recovery/_try_lock_run.sql
-- Locks: one run row FOR NO KEY UPDATE, and never waits for it: for callers that hold agents,
-- which come before runs.
create or replace function dispatch._try_lock_run(
    p_workspace_id uuid,
    p_run_id uuid,
    p_statuses dispatch.run_status[]
)
returns boolean
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    perform
    from dispatch.run as r
    where r.workspace_id = p_workspace_id and r.id = p_run_id and r.status = any(p_statuses)
    for no key update skip locked;
    return found;
end;
$fn$;

comment on function dispatch._try_lock_run(uuid, uuid, dispatch.run_status[]) is
$doc$Hold a run's row if nobody else does and it stands in one of the statuses; tell whether it
is held.

Errors: none.$doc$;
-- end sql/30_functions/recovery/_try_lock_run.sql

-- begin sql/30_functions/recovery/_waiting_runs.sql
-- Locks: run rows FOR NO KEY UPDATE by id. A run that was started while this waited is left
-- out, since the condition is rechecked under the lock.
create or replace function dispatch._waiting_runs(
    p_workspace_id uuid,
    p_agent_id uuid,
    p_issue_id uuid
)
returns uuid[]
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    return array(
        select r.id
        from (
            select d.run_id
            from dispatch.run_detail as d
            where d.workspace_id = p_workspace_id and d.issue_id = p_issue_id
            order by d.run_id
        ) as i
        cross join lateral (
            select s.id
            from dispatch.run as s
            where s.workspace_id = p_workspace_id
                and s.id = i.run_id
                and s.agent_id = p_agent_id
                and s.status in ('queued', 'dispatched', 'deferred')
            limit 1
            for no key update
        ) as r
    );
end;
$fn$;

comment on function dispatch._waiting_runs(uuid, uuid, uuid) is
$doc$Hold and give the runs of an issue and agent that are queued, dispatched or deferred.

Errors: none.$doc$;
-- end sql/30_functions/recovery/_waiting_runs.sql

-- begin sql/30_functions/recovery/promote_deferred.sql
-- The plan settings hold for everything that this function calls: a plan made while the tables
-- are empty is kept, and must walk the same indexes as one made over a million rows.
create or replace function dispatch.promote_deferred(
    p_workspace_id uuid,
    p_runtime_ids uuid[] default null,
    p_max integer default 500
)
returns integer
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_material = off
set jit = off
as $fn$
declare
    v_runtimes uuid[] := p_runtime_ids;
    v_agents uuid[];
    v_now timestamptz;
begin
    perform dispatch._check_isolation();
    perform dispatch._require_workspace(p_workspace_id);
    perform dispatch._check_count('p_max', p_max);
    if v_runtimes is null then
        v_runtimes := array(
            select r.id from dispatch.runtime as r where r.workspace_id = p_workspace_id
        );
    end if;
    v_now := dispatch.clock();
    v_agents := dispatch._due_agents(p_workspace_id, v_runtimes, v_now, p_max)
    || dispatch._superseded_agents(p_workspace_id);
    if cardinality(v_agents) = 0 then
        return 0;
    end if;
    perform dispatch._lock_claim_agents(p_workspace_id, v_agents, true);
    v_now := dispatch.clock();
    return dispatch._promote_due(
        p_workspace_id,
        dispatch._fresh_runtimes(p_workspace_id, v_runtimes, v_now),
        v_agents, p_max, v_now
    );
end;
$fn$;

comment on function dispatch.promote_deferred(uuid, uuid[], integer) is
$doc$Queue deferred runs that are due, and return how many.

p_runtime_ids NULL means all runtimes of the workspace; unknown ids are ignored. At most p_max
runs. A run waits on while its runtime is not fresh, its issue and agent have a queued or
dispatched run, or the workspace is paused. Before that the workspace's automatic retries that
another run of their pair has replaced are cancelled, and that run gets their wakes. Rule:
issue-to-run 4.
Errors: PD400 missing argument, negative p_max, or a transaction stricter than READ COMMITTED
(COLUMN transaction_isolation); PD404 workspace not found.$doc$;
-- end sql/30_functions/recovery/promote_deferred.sql

-- begin sql/30_functions/recovery/reclaim_runs.sql
-- The plan settings hold for everything that this function calls: a plan made while the tables
-- are empty is kept, and must walk the same indexes as one made over a million rows.
create or replace function dispatch.reclaim_runs(
    p_workspace_id uuid,
    p_runtime_ids uuid[],
    p_max integer default 1
)
returns setof dispatch.claimed_run
language plpgsql
volatile
parallel unsafe
rows 10
security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_material = off
set jit = off
as $fn$
declare
    v_max constant integer := least(p_max, dispatch.claim_batch_limit());
    v_known uuid[];
    v_reclaimed uuid[];
    v_now timestamptz;
begin
    perform dispatch._check_isolation();
    perform dispatch._check_ids(array['p_workspace_id'], array[p_workspace_id]);
    perform dispatch._check_count('p_max', p_max);
    v_known := dispatch._known_runtimes(p_workspace_id, p_runtime_ids);
    if v_max = 0 or cardinality(v_known) = 0 then
        return;
    end if;
    v_now := dispatch.clock();
    v_reclaimed := dispatch._reclaim_stale(
        p_workspace_id, dispatch._fresh_runtimes(p_workspace_id, v_known, v_now), v_max,
        dispatch.prepare_lease(), v_now
    );
    return query
    select
        c.run_id, c.workspace_id, c.agent_id, c.runtime_id, c.issue_id, c.chat_session_id,
        c.autopilot_run_id, c.claim_no, c.attempt, c.priority, c.reason, c.payload, c.triggers,
        c.requested_at, c.dispatched_at, c.lease_expires_at, c.originator_id, c.accountable_id,
        c.attribution_source, c.is_leader_run, c.squad_id, c.handoff_note, c.session_id,
        c.work_dir, c.reclaimed
    from dispatch._claimed_rows(p_workspace_id, v_reclaimed, v_reclaimed) as c;
end;
$fn$;

comment on function dispatch.reclaim_runs(uuid, uuid[], integer) is
$doc$Hand out again the runs of these runtimes whose claim was never confirmed.

A dispatched run is handed out again once its claim is older than 90 s and no lease of it lives;
it stays dispatched and gets the next claim number. p_runtime_ids must belong to one daemon;
unknown and stale ones are skipped. At most p_max runs, clamped to 256. Rule: issue-to-run 4.
Errors: PD400 missing argument, negative p_max, runtimes of two daemons, or a transaction
stricter than READ COMMITTED (COLUMN transaction_isolation).$doc$;
-- end sql/30_functions/recovery/reclaim_runs.sql

-- begin sql/30_functions/recovery/recover_runtime.sql
-- Locks: agents through _fail_runs, then run rows by id. The runs are found by the index of
-- active lanes: there are never more of them than the agents' capacities allow.
create or replace function dispatch.recover_runtime(p_workspace_id uuid, p_runtime_id uuid)
returns setof dispatch.transition
language plpgsql
volatile
parallel unsafe
rows 10
security definer
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_reports dispatch._report[];
begin
    perform dispatch._check_isolation();
    perform dispatch._check_ids(
        array['p_workspace_id', 'p_runtime_id'], array[p_workspace_id, p_runtime_id]
    );
    v_reports := array(
        select row(
            row_number() over (order by r.id), r.id, r.claim_no, null, 'runtime_recovery',
            'the daemon restarted', null, null, false, null
        )::dispatch._report
        from dispatch.run as r
        where r.workspace_id = p_workspace_id
            and r.runtime_id = p_runtime_id
            and r.status in ('dispatched', 'waiting_local_directory', 'running')
    );
    return query
    select
        t.applied, t.run_id, t.status, t.claim_no, t.retry_run_id, t.reason, t.follow_up_run_id
    from dispatch._fail_runs(p_workspace_id, v_reports) as t;
end;
$fn$;

comment on function dispatch.recover_runtime(uuid, uuid) is
$doc$Fail and retry what a runtime had in hand when its daemon went down: one row a run.

Called by a daemon that starts, before it claims. Dispatched, waiting and running runs of the
runtime fail with runtime_recovery, each with its retry where it gets one; queued runs and other
runtimes are left alone. An unknown or foreign runtime is no rows. Rule: issue-to-run 4.
Errors: PD400 missing or all-zero id, or a transaction stricter than READ COMMITTED (COLUMN
transaction_isolation).$doc$;
-- end sql/30_functions/recovery/recover_runtime.sql

-- begin sql/30_functions/recovery/rerun.sql
-- Locks: the run's issue, its agent FOR UPDATE, so that no enqueue takes the slot meanwhile,
-- then the pair's waiting runs by id. The gates are asked before anything is cancelled, and not
-- again afterwards, so that a refusal leaves what is queued alone.
create or replace function dispatch.rerun(
    p_workspace_id uuid,
    p_run_id uuid,
    p_actor_type text,
    p_actor_id uuid default null,
    p_acting_run_id uuid default null
)
returns dispatch.decision
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_user uuid;
    v_wake dispatch.wake;
    v_gated dispatch._candidate[];
    v_decision dispatch.decision;
    v_waiting uuid[] := '{}'::uuid[];
    v_now timestamptz;
begin
    perform dispatch._check_ids(
        array['p_workspace_id', 'p_run_id'], array[p_workspace_id, p_run_id]
    );
    v_user := dispatch._resolve_actor(
        p_workspace_id, p_actor_type, p_actor_id, p_acting_run_id
    );
    perform dispatch._lock_run_owners(p_workspace_id, array[p_run_id], true);
    v_wake := dispatch._rerun_wake(
        p_workspace_id, p_run_id, p_actor_type, p_actor_id, p_acting_run_id
    );
    if v_wake.agent_id is null then
        perform dispatch._raise(
            'PD404', 'run not found', 'p_run_id', 'name a run of the workspace.'
        );
    elsif p_actor_type <> 'system'
        and not dispatch._may_invoke(p_workspace_id, v_wake.agent_id, p_actor_type, v_user)
    then
        perform dispatch._raise(
            'PD403', 'invocation not allowed', 'p_run_id',
            'act as somebody who may start the agent.', 'invocation_not_allowed'
        );
    end if;
    v_now := dispatch.clock();
    v_gated := dispatch._gate_wakes(p_workspace_id, array[v_wake], v_now);
    if v_gated[1].code is null then
        v_wake := v_gated[1].wake;
        v_wake.skip := v_wake.skip || array['agent', 'attribution', 'pause'];
        v_waiting := dispatch._waiting_runs(p_workspace_id, v_wake.agent_id, v_wake.issue_id);
        perform dispatch._cancel_runs(p_workspace_id, v_waiting, 'replaced by a rerun', v_now);
    end if;
    select d.outcome, d.reason_code, d.run_id, d.agent_id, d.source, d.detail
    into v_decision
    from dispatch._admit_wakes(p_workspace_id, array[v_wake]) as d;
    if v_decision.outcome = 'queued' then
        perform dispatch._inherit_wakes(
            p_workspace_id, array[p_run_id] || array_remove(v_waiting, p_run_id),
            v_decision.run_id
        );
    end if;
    return v_decision;
end;
$fn$;

comment on function dispatch.rerun(uuid, uuid, text, uuid, uuid) is
$doc$Ask for the work of a run once more, as an act of whoever asks.

The new run stands for what the old one stood for and starts without its session. What the pair
has queued, dispatched or deferred is cancelled and handed over; what is waiting or running is
left to end, and the new run comes after it. A refusal by a gate is data and leaves everything
as it was. Rule: issue-to-run 4.
Errors: PD400 missing, unknown or all-zero argument; PD403 (DETAIL invocation_not_allowed) the
actor may not start the agent, or the actor does not hold; PD404 run not found.$doc$;
-- end sql/30_functions/recovery/rerun.sql

-- begin sql/30_functions/recovery/sweep.sql
create or replace function dispatch.sweep(
    p_max integer default 500,
    p_only text default null,
    out sweep text,
    out runs integer
)
returns setof record
language plpgsql
volatile
parallel unsafe
rows 6
security definer
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_workspaces constant uuid[] := array(
        select w.id from dispatch.workspace as w order by w.id
    );
    v_workspace uuid;
    v_now timestamptz;
begin
    perform dispatch._check_isolation();
    if p_max is null or p_max < 1 then
        perform dispatch._raise('PD400', 'count out of range', 'p_max', '1 or more.');
    elsif p_only is not null then
        perform dispatch._check_word('p_only', p_only, dispatch._sweeps());
    end if;
    foreach sweep in array dispatch._sweeps() loop
        continue when sweep <> p_only;
        runs := 0;
        foreach v_workspace in array v_workspaces loop
            exit when runs >= p_max;
            v_now := dispatch.clock();
            if sweep = 'runtimes' then
                runs := runs + dispatch._sweep_runtimes(v_workspace, p_max - runs, v_now);
            elsif sweep = 'queued' and (
                dispatch._workspace_is_paused(v_workspace)
                or dispatch._resumed_since(v_workspace, v_now - dispatch.queued_ttl())
            ) then
                continue;
            else
                runs := runs + dispatch._sweep_runs(v_workspace, sweep, p_max - runs);
            end if;
        end loop;
        return next;
    end loop;
end;
$fn$;

comment on function dispatch.sweep(integer, text) is
$doc$End what nobody will end any more, over all workspaces: a row a sweep, with how many it
handled.

In this order: runtimes (set offline), dispatched, running, offline, queued, reconnect; the
first that fits names the failure. Each handles at most p_max rows; p_only names the one to run.
Runs of a silent runtime are kept for reconnect_grace(), and a running run is never ended while
its runtime is alive, but a waiting run, and a running one that was started with a lease, end
once their lease has run out. What a workspace has queued does not expire while it is paused,
nor within queued_ttl() of the resume; what expires takes its wakes with it. Any number of
callers may sweep at once; all sweeps in one transaction may be chosen as the victim of a
deadlock, one alone may not. Rule: issue-to-run 4.
Errors: PD400 p_max below 1, an unknown sweep, or a transaction stricter than READ COMMITTED
(COLUMN transaction_isolation).$doc$;
-- end sql/30_functions/recovery/sweep.sql

-- begin sql/30_functions/telemetry/_gate_metric.sql
create or replace function dispatch._gate_metric(p_reason text)
returns text
language sql
immutable
parallel safe
as $fn$
select case
    when p_reason in ('allowance_exhausted', 'count_read_failed', 'task_unattributed')
        then 'assignment_rate_limit'
    when p_reason in ('duplicate_recent', 'duplicate_key') then 'run_dedup'
    when p_reason in ('paused', 'pause_unreadable') then 'pause'
    when p_reason = 'coalesced' then 'coalesce'
    when p_reason = 'already_active' then 'pending_slot'
    else 'refused'
end;
$fn$;

comment on function dispatch._gate_metric(text) is
$doc$Name the counter under which a gate's reason is counted.

Errors: none.$doc$;
-- end sql/30_functions/telemetry/_gate_metric.sql

-- begin sql/30_functions/telemetry/_record_gate_event.sql
-- Insert-only, since one counter row would make every refusal wait for the one before it. The
-- row commits and rolls back with the caller's transaction.
create or replace function dispatch._record_gate_event(
    p_workspace_id uuid,
    p_at timestamptz,
    p_reason text,
    p_wake dispatch.wake,
    p_run_id uuid,
    p_detail jsonb
)
returns void
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_id constant uuid := dispatch._uuid_v7(dispatch._uuid_tick());
begin
    insert into dispatch.gate_event (
        workspace_id, id, at, metric, reason, agent_id, issue_id, run_id, actor_type, actor_id,
        detail
    )
    select
        w.id, v_id, p_at, dispatch._gate_metric(p_reason), p_reason, p_wake.agent_id,
        p_wake.issue_id, p_run_id, p_wake.actor_type, p_wake.actor_id,
        coalesce(p_detail, '{}')
    from dispatch.workspace as w
    where w.id = p_workspace_id;
    if p_reason in (
        'allowance_exhausted', 'count_read_failed', 'task_unattributed', 'duplicate_key'
    ) then
        raise warning using
            message = case p_reason
                when 'allowance_exhausted' then 'assignment allowance exhausted'
                when 'count_read_failed' then 'assignment allowance not readable'
                when 'task_unattributed' then 'assignment names no issue'
                else 'idempotency key taken'
            end,
            detail = coalesce(p_detail, '{}') || jsonb_strip_nulls(jsonb_build_object(
                'agent_id', p_wake.agent_id,
                'actor_id', case
                    when jsonb_typeof(p_wake.payload -> 'actor_id') = 'string'
                        then p_wake.payload ->> 'actor_id'
                    else p_wake.actor_id::text
                end
            ));
    end if;
end;
$fn$;

comment on function dispatch._record_gate_event(
    uuid, timestamptz, text, dispatch.wake, uuid, jsonb
) is
$doc$Record that a gate refused a wake, found it to be a duplicate, or admitted it blindly.

The three reasons of the allowance and duplicate_key raise one WARNING each, whose DETAIL is
p_detail with agent_id and the acting actor_id as JSON. A workspace that does not exist has no
record.
Errors: none.$doc$;
-- end sql/30_functions/telemetry/_record_gate_event.sql

-- begin sql/30_functions/wakes/_check_wake.sql
-- One function for all arguments, since each call of a function with a pinned path costs the
-- hot path some microseconds.
create or replace function dispatch._check_wake(p_workspace_id uuid, p_wake dispatch.wake)
returns void
language plpgsql
volatile
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_zero constant uuid := '00000000-0000-0000-0000-000000000000'::uuid;
    v_now timestamptz;
begin
    if num_nulls(p_workspace_id, p_wake.agent_id) > 0
        or v_zero in (p_workspace_id, p_wake.agent_id)
    then
        perform dispatch._check_ids(
            array['p_workspace_id', 'p_agent_id'], array[p_workspace_id, p_wake.agent_id]
        );
    elsif p_wake.reason is null
        or btrim(p_wake.reason) = ''
        or octet_length(p_wake.reason) > dispatch.reason_limit()
    then
        perform dispatch._check_text('p_reason', p_wake.reason, dispatch.reason_limit());
    elsif octet_length(p_wake.payload::text) > dispatch.document_limit() then
        perform dispatch._raise(
            'PD400', 'document too long', 'p_payload', 'at most 1048576 bytes of JSON text.'
        );
    elsif octet_length(p_wake.idempotency_key) > dispatch.key_limit() then
        perform dispatch._raise(
            'PD400', 'text too long', 'p_idempotency_key', 'at most 255 bytes.'
        );
    elsif p_wake.priority is null then
        perform dispatch._raise('PD400', 'argument missing', 'p_priority', 'give an integer.');
    elsif p_wake.coalesce is null then
        perform dispatch._raise('PD400', 'argument missing', 'p_coalesce', 'true or false.');
    elsif p_wake.max_attempts is null or p_wake.max_attempts < 1 then
        perform dispatch._raise(
            'PD400', 'attempts out of range', 'p_max_attempts', 'at least 1.'
        );
    elsif p_wake.actor_type is null
        or p_wake.actor_type not in ('user', 'agent', 'system')
    then
        perform dispatch._check_word(
            'p_actor_type', p_wake.actor_type, array['user', 'agent', 'system']
        );
    elsif v_zero in (
        p_wake.issue_id, p_wake.chat_session_id, p_wake.originator_id, p_wake.actor_id,
        p_wake.acting_run_id
    ) then
        perform dispatch._check_optional_ids(
            array[
                'p_issue_id', 'p_chat_session_id', 'p_originator_id', 'p_actor_id',
                'p_acting_run_id'
            ],
            array[
                p_wake.issue_id, p_wake.chat_session_id, p_wake.originator_id,
                p_wake.actor_id, p_wake.acting_run_id
            ]
        );
    elsif p_wake.fire_at is not null then
        v_now := dispatch.clock();
        perform dispatch._check_instant('p_fire_at', p_wake.fire_at, v_now);
    end if;
end;
$fn$;

comment on function dispatch._check_wake(uuid, dispatch.wake) is
$doc$Refuse the first argument of queue_wake that is missing or out of its range.

Errors: PD400 argument missing, all-zero id, text or document too long, attempts or time out of
range, unknown word.$doc$;
-- end sql/30_functions/wakes/_check_wake.sql

-- begin sql/30_functions/wakes/_check_wake_actors.sql
create or replace function dispatch._check_wake_actors(
    p_workspace_id uuid,
    p_wakes dispatch.wake[],
    p_in_batch boolean
)
returns void
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_active constant dispatch.run_status[] := array[
        'dispatched', 'waiting_local_directory', 'running'
    ]::dispatch.run_status[];
    v_bad record;
begin
    select w.ordinality, w.actor_type, w.originator_id, p.problem
    into v_bad
    from unnest(p_wakes) with ordinality as w
    left join lateral (
        select g.user_id
        from dispatch.member as g
        where g.workspace_id = p_workspace_id
            and g.user_id = case w.actor_type
                when 'user' then w.actor_id when 'system' then w.originator_id
            end
        limit 1
    ) as m on true
    left join lateral (
        select g.id
        from dispatch.agent as g
        where g.workspace_id = p_workspace_id
            and g.id = case w.actor_type when 'agent' then w.actor_id end
        limit 1
    ) as a on true
    left join lateral (
        select g.id
        from dispatch.run as g
        where g.workspace_id = p_workspace_id
            and g.id = w.acting_run_id
            and g.agent_id = w.actor_id
            and g.status = any(v_active)
        limit 1
    ) as r on true
    cross join lateral (
        select case
            when w.actor_type <> 'system' and w.originator_id is not null
                then 'originator_of_another'
            when w.actor_type = 'system' and w.originator_id is not null and m.user_id is null
                then 'originator_unknown'
            when w.actor_type = 'agent' and w.actor_id is null then 'agent_unnamed'
            when w.actor_type <> 'agent' and w.acting_run_id is not null then 'run_of_nobody'
            when w.actor_type = 'user' and w.actor_id is not null and m.user_id is null
                then 'no_member'
            when w.actor_type = 'agent' and a.id is null then 'no_agent'
            when w.acting_run_id is not null and r.id is null then 'run_not_active'
        end as problem
    ) as p
    where p.problem is not null
    order by w.ordinality
    limit 1;
    if not found then
        return;
    end if;
    case v_bad.problem
        when 'originator_of_another' then
            perform dispatch._raise_wake(
                p_in_batch, v_bad.ordinality, 'originator_id', 'PD400',
                'originator not allowed', 'only the system names an originator.'
            );
        when 'originator_unknown' then
            perform dispatch._raise_wake(
                p_in_batch, v_bad.ordinality, 'originator_id', 'PD400',
                'originator is no member', 'name a member of the workspace.'
            );
        when 'agent_unnamed' then
            perform dispatch._raise_wake(
                p_in_batch, v_bad.ordinality, 'actor_id', 'PD400',
                'argument missing', 'an acting agent must be named.'
            );
        when 'run_of_nobody' then
            perform dispatch._raise_wake(
                p_in_batch, v_bad.ordinality, 'acting_run_id', 'PD400',
                'run given for no agent', 'only an agent acts in a run.'
            );
        when 'no_member' then
            perform dispatch._raise_wake(
                p_in_batch, v_bad.ordinality, 'actor_id', 'PD403',
                'actor is no member', 'act as a member of the workspace.'
            );
        when 'no_agent' then
            perform dispatch._raise_wake(
                p_in_batch, v_bad.ordinality, 'actor_id', 'PD403',
                'actor is no agent', 'act as an agent of the workspace.'
            );
        else
            perform dispatch._raise_wake(
                p_in_batch, v_bad.ordinality, 'acting_run_id', 'PD403',
                'acting run not active', 'name an active run of the acting agent.',
                'attribution_blocked'
            );
    end case;
end;
$fn$;

comment on function dispatch._check_wake_actors(uuid, dispatch.wake[], boolean) is
$doc$Refuse the first wake whose actor, acting run or originator does not hold.

Errors: PD400 an originator that is no member or not the system's, an unnamed agent, a run given
for no agent; PD403 an actor that is no member or no agent, or (DETAIL attribution_blocked) an
acting run that is not an active run of the acting agent.$doc$;
-- end sql/30_functions/wakes/_check_wake_actors.sql

-- begin sql/30_functions/wakes/_check_wakes_values.sql
create or replace function dispatch._check_wakes_values(p_wakes dispatch.wake[])
returns void
language plpgsql
volatile
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_now constant timestamptz := dispatch.clock();
    v_bad record;
begin
    select w.ordinality, p.field, p.message, p.advice
    into v_bad
    from unnest(p_wakes) with ordinality as w
    cross join lateral (
        values
        (
            'reason', 'text missing or too long', '1 to 100 bytes.',
            btrim(w.reason) = '' or octet_length(w.reason) > dispatch.reason_limit()
        ),
        (
            'payload', 'document too long', 'at most 1048576 bytes of JSON text.',
            octet_length(w.payload::text) > dispatch.document_limit()
        ),
        (
            'idempotency_key', 'text too long', 'at most 255 bytes.',
            octet_length(w.idempotency_key) > dispatch.key_limit()
        ),
        ('max_attempts', 'attempts out of range', 'at least 1.', w.max_attempts < 1),
        (
            'actor_type', 'unknown word', 'one of user, agent, system.',
            w.actor_type not in ('user', 'agent', 'system')
        ),
        (
            'fire_at', 'time out of range', 'a finite time at most 366 days ahead.',
            w.fire_at > v_now + dispatch.max_delay()
        )
    ) as p (field, message, advice, is_bad)
    where p.is_bad
    order by w.ordinality, p.field
    limit 1;
    if found then
        perform dispatch._raise_wake(
            true, v_bad.ordinality, v_bad.field, 'PD400', v_bad.message, v_bad.advice
        );
    end if;
end;
$fn$;

comment on function dispatch._check_wakes_values(dispatch.wake[]) is
$doc$Refuse the first wake of a batch with a value out of its range.

Errors: PD400 text or document too long, attempts or time out of range, unknown word.$doc$;
-- end sql/30_functions/wakes/_check_wakes_values.sql

-- begin sql/30_functions/wakes/_payload_issue_id.sql
create or replace function dispatch._payload_issue_id(p_payload jsonb)
returns uuid
language sql
immutable
parallel safe
as $fn$
select case
    when jsonb_typeof(p_payload -> 'task_id') = 'string'
        and dispatch._is_uuid_text(p_payload ->> 'task_id')
        then (p_payload ->> 'task_id')::uuid
end;
$fn$;

comment on function dispatch._payload_issue_id(jsonb) is
$doc$Read the issue's id out of a payload's task_id; NULL when that is not a string in uuid
form.

Errors: none.$doc$;
-- end sql/30_functions/wakes/_payload_issue_id.sql

-- begin sql/30_functions/wakes/_raise_wake.sql
create or replace function dispatch._raise_wake(
    p_in_batch boolean,
    p_ord bigint,
    p_field text,
    p_errcode text,
    p_message text,
    p_advice text,
    p_detail text default ''
)
returns void
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    perform dispatch._raise(
        p_errcode, p_message,
        case
            when p_in_batch then format('p_wakes[%s].%s', p_ord - 1, p_field)
            else 'p_' || p_field
        end,
        p_advice, p_detail
    );
end;
$fn$;

comment on function dispatch._raise_wake(boolean, bigint, text, text, text, text, text) is
$doc$Raise an error about one field of a wake: p_FIELD, or p_wakes[N].FIELD counted from 0 in a
batch.

p_ord counts from 1.
Errors: the given code, always.$doc$;
-- end sql/30_functions/wakes/_raise_wake.sql

-- begin sql/30_functions/wakes/_read_wakes.sql
create or replace function dispatch._read_wakes(p_wakes jsonb)
returns dispatch.wake[]
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    return array(
        select row(
            e.value ->> 'agent_id', e.value ->> 'reason', 'wake',
            coalesce(nullif(e.value -> 'payload', 'null'), '{}'), e.value ->> 'idempotency_key',
            e.value ->> 'issue_id', e.value ->> 'chat_session_id', null, null,
            coalesce((e.value ->> 'priority')::numeric, 0), e.value ->> 'fire_at',
            coalesce((e.value ->> 'coalesce')::boolean, true),
            coalesce((e.value ->> 'max_attempts')::numeric, 2), null, null,
            coalesce(e.value ->> 'actor_type', 'system'), e.value ->> 'actor_id',
            e.value ->> 'acting_run_id', e.value ->> 'originator_id', null, null, null, null,
            null, null, null, null, null, null, null, null, null, null, null
        )::dispatch.wake
        from jsonb_array_elements(p_wakes) with ordinality as e (value, ordinality)
        order by e.ordinality
    );
end;
$fn$;

comment on function dispatch._read_wakes(jsonb) is
$doc$Read checked elements of queue_wakes as wakes, with the defaults of queue_wake.

Errors: none.$doc$;
-- end sql/30_functions/wakes/_read_wakes.sql

-- begin sql/30_functions/wakes/_resolve_wake_issues.sql
-- Locks: the named issues FOR KEY SHARE by id, before any agent, so that none is deleted
-- between the look-up and the insert.
create or replace function dispatch._resolve_wake_issues(
    p_workspace_id uuid,
    p_wakes dispatch.wake[],
    p_in_batch boolean
)
returns dispatch.wake[]
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_wakes dispatch.wake[] := p_wakes;
    v_known uuid[];
    v_asked record;
begin
    v_known := array(
        select i.id
        from (
            select distinct n.id
            from unnest(p_wakes) as w
            cross join lateral (
                values (w.issue_id), (dispatch._payload_issue_id(w.payload))
            ) as n (id)
            order by n.id
        ) as a
        cross join lateral (
            select s.id
            from dispatch.issue as s
            where s.workspace_id = p_workspace_id and s.id = a.id
            limit 1
            for key share
        ) as i
    );
    for v_asked in
        select
            w.ordinality, w.issue_id as given_id, p.id as named_id,
            g.id is not null as is_given_known
        from unnest(p_wakes) with ordinality as w
        left join unnest(v_known) as g (id) on g.id = w.issue_id
        left join unnest(v_known) as p (id) on p.id = dispatch._payload_issue_id(w.payload)
        where w.issue_id is not null or p.id is not null
        order by w.ordinality
    loop
        if v_asked.given_id is null then
            v_wakes[v_asked.ordinality].issue_id := v_asked.named_id;
        elsif not v_asked.is_given_known then
            perform dispatch._raise_wake(
                p_in_batch, v_asked.ordinality, 'issue_id', 'PD404',
                'issue not found', 'name an issue of the workspace.'
            );
        elsif v_asked.named_id <> v_asked.given_id then
            perform dispatch._raise_wake(
                p_in_batch, v_asked.ordinality, 'issue_id', 'PD400',
                'two issues named', 'the payload names another issue as its task_id.'
            );
        end if;
    end loop;
    return v_wakes;
end;
$fn$;

comment on function dispatch._resolve_wake_issues(uuid, dispatch.wake[], boolean) is
$doc$Give the wakes with their issues: the one given, else the one that the payload's task_id
names.

A task_id that names no issue of the workspace leaves the wake without one.
Errors: PD404 issue not found; PD400 the payload names another issue than the argument.$doc$;
-- end sql/30_functions/wakes/_resolve_wake_issues.sql

-- begin sql/30_functions/wakes/queue_wake.sql
create or replace function dispatch.queue_wake(
    p_workspace_id uuid,
    p_agent_id uuid,
    p_reason text,
    p_payload jsonb default '{}',
    p_idempotency_key text default null,
    p_issue_id uuid default null,
    p_chat_session_id uuid default null,
    p_priority integer default 0,
    p_fire_at timestamptz default null,
    p_originator_id uuid default null,
    p_actor_type text default 'system',
    p_actor_id uuid default null,
    p_acting_run_id uuid default null,
    p_coalesce boolean default true,
    p_max_attempts integer default 2
)
returns dispatch.decision
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_wake dispatch.wake;
    v_wakes dispatch.wake[];
    v_decision dispatch.decision;
begin
    v_wake.agent_id := p_agent_id;
    v_wake.reason := p_reason;
    v_wake.source := 'wake';
    v_wake.payload := p_payload;
    v_wake.idempotency_key := p_idempotency_key;
    v_wake.issue_id := p_issue_id;
    v_wake.chat_session_id := p_chat_session_id;
    v_wake.priority := p_priority;
    v_wake.fire_at := p_fire_at;
    v_wake.coalesce := p_coalesce;
    v_wake.max_attempts := p_max_attempts;
    v_wake.actor_type := p_actor_type;
    v_wake.actor_id := p_actor_id;
    v_wake.acting_run_id := p_acting_run_id;
    v_wake.originator_id := p_originator_id;
    perform dispatch._check_wake(p_workspace_id, v_wake);
    v_wakes := array[v_wake];
    if p_actor_type <> 'system' or num_nonnulls(p_originator_id, p_acting_run_id) > 0 then
        perform dispatch._check_wake_actors(p_workspace_id, v_wakes, false);
    end if;
    if p_issue_id is not null or dispatch._payload_issue_id(p_payload) is not null then
        v_wakes := dispatch._resolve_wake_issues(p_workspace_id, v_wakes, false);
    end if;
    select d.outcome, d.reason_code, d.run_id, d.agent_id, d.source, d.detail
    into v_decision
    from dispatch._admit_wakes(p_workspace_id, v_wakes) as d;
    return v_decision;
end;
$fn$;

comment on function dispatch.queue_wake(
    uuid, uuid, text, jsonb, text, uuid, uuid, integer, timestamptz, uuid, text, uuid, uuid,
    boolean, integer
) is
$doc$Ask for one run of an agent and learn what became of the wish.

For trusted producers: the invoke gate is not asked. p_reason is a word of the caller, at most
100 bytes; p_payload any JSON, at most 1 MiB, stored as given (NULL is an empty object).
p_idempotency_key, at most 255 bytes, makes the wake unique in the workspace; an empty one is
none. p_issue_id binds the run to an issue; left NULL it is the payload's task_id where that
names an issue. p_chat_session_id serialises the runs of one conversation. Higher p_priority is
claimed first. p_fire_at in the future defers the run. p_originator_id is the member for whom
the system acts. p_coalesce false keeps the wake from merging. p_max_attempts counts the first
attempt too. A refusal is data: outcome and reason_code say which gate decided. Rule:
assignment-wake-rate-limit, Where the gate sits; issue-to-run 8.
Errors: PD400 missing, malformed or contradicting argument, originator that is no member or not
the system's; PD403 actor that is no member or agent, or (DETAIL attribution_blocked) acting run
not active; PD404 issue not found; PD409 pending slot contended.$doc$;
-- end sql/30_functions/wakes/queue_wake.sql

-- begin sql/30_functions/wakes/queue_wakes.sql
create or replace function dispatch.queue_wakes(p_workspace_id uuid, p_wakes jsonb)
returns setof dispatch.decision
language plpgsql
volatile
parallel unsafe
rows 10
security definer
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_wakes dispatch.wake[];
begin
    perform dispatch._check_ids(array['p_workspace_id'], array[p_workspace_id]);
    perform dispatch._check_elements(
        'p_wakes',
        p_wakes,
        '{"agent_id": "uuid", "reason": "string", "payload": "any", "idempotency_key": "string",
        "issue_id": "uuid", "chat_session_id": "uuid", "priority": "integer",
        "fire_at": "instant", "originator_id": "uuid", "actor_type": "string",
        "actor_id": "uuid", "acting_run_id": "uuid", "coalesce": "boolean",
        "max_attempts": "integer"}',
        array['agent_id', 'reason']
    );
    v_wakes := dispatch._read_wakes(p_wakes);
    perform dispatch._check_wakes_values(v_wakes);
    perform dispatch._check_wake_actors(p_workspace_id, v_wakes, true);
    v_wakes := dispatch._resolve_wake_issues(p_workspace_id, v_wakes, true);
    return query
    select d.outcome, d.reason_code, d.run_id, d.agent_id, d.source, d.detail
    from dispatch._admit_wakes(p_workspace_id, v_wakes) as d;
end;
$fn$;

comment on function dispatch.queue_wakes(uuid, jsonb) is
$doc$Ask for many runs in one call: one decision an element, in the order given.

p_wakes is an array of at most 1000 objects whose keys are the arguments of queue_wake without
their p_; agent_id and reason are required, a null counts as absent. Elements are decided in
order, each seeing those before it. A refused wake is its element's decision; an element of a
wrong shape refuses the whole call. Rule: as queue_wake.
Errors: as queue_wake, with COLUMN p_wakes[N].KEY counted from 0.$doc$;
-- end sql/30_functions/wakes/queue_wakes.sql

-- begin sql/40_triggers/run_keep_terminal.sql
-- The second line of defence: every transition guards its own statement. Reads its own row
-- only.
create or replace function dispatch._keep_terminal()
returns trigger
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    perform dispatch._raise(
        'PD500', 'terminal run changed', 'status',
        'a run that has ended never changes its status.'
    );
    return null;
end;
$fn$;

comment on function dispatch._keep_terminal() is
$doc$Refuse a statement that would change the status of a run that has ended.

Errors: PD500 terminal run changed.$doc$;

create or replace trigger run_keep_terminal
before update of status on dispatch.run
for each row
when (old.status in ('completed', 'failed', 'cancelled'))
execute function dispatch._keep_terminal();

comment on trigger run_keep_terminal on dispatch.run is
$doc$Keeps terminal runs as they are; links may still be cleared.$doc$;
-- end sql/40_triggers/run_keep_terminal.sql

-- begin sql/50_views/gate_counters.sql
-- The names are written out, since a view calls functions as its reader, who may call no
-- private one.
create or replace view dispatch.gate_counters as
with known as (
    select k.metric, k.reason
    from (
        values
            ('assignment_rate_limit', 'allowance_exhausted'),
            ('assignment_rate_limit', 'count_read_failed'),
            ('assignment_rate_limit', 'task_unattributed'),
            ('run_dedup', 'duplicate_recent'),
            ('run_dedup', 'duplicate_key'),
            ('pause', 'paused'),
            ('pause', 'pause_unreadable'),
            ('coalesce', 'coalesced'),
            ('pending_slot', 'already_active'),
            ('refused', 'invocation_not_allowed'),
            ('refused', 'target_unavailable'),
            ('refused', 'agent_runtime_required'),
            ('refused', 'runtime_offline'),
            ('refused', 'runtime_unusable'),
            ('refused', 'attribution_blocked'),
            ('refused', 'agent_not_runnable'),
            ('refused', 'self_trigger_suppressed'),
            ('refused', 'internal_error')
    ) as k (metric, reason)
),
counted as (
    select e.metric, e.reason, count(*) as value
    from dispatch.gate_event as e
    group by e.metric, e.reason
    union all
    select t.metric, t.reason, t.value
    from dispatch.gate_total as t
    union all
    select
        case g.outcome when 'coalesced' then 'coalesce' else 'pending_slot' end,
        case g.outcome when 'coalesced' then 'coalesced' else 'already_active' end,
        g.count
    from dispatch.run_trigger as g
    where g.outcome in ('coalesced', 'absorbed') and not g.inherited
)
select k.metric, k.reason, coalesce(sum(c.value), 0)::bigint as value
from known as k
left join counted as c on c.metric = k.metric and c.reason = k.reason
group by k.metric, k.reason;

comment on view dispatch.gate_counters is
$doc$How often each gate acted, over all workspaces, pruned records included.

Wakes that were queued or deferred are in no row; rows of what never happened have the
value 0.$doc$;
-- end sql/50_views/gate_counters.sql

-- begin sql/50_views/queue_depth.sql
-- One branch a partial index, so that the history of ended runs is never read.
create or replace view dispatch.queue_depth as
with unfinished as (
    select r.workspace_id, r.agent_id, r.status, r.requested_at
    from dispatch.run as r
    where r.status = 'queued'
    union all
    select r.workspace_id, r.agent_id, r.status, r.requested_at
    from dispatch.run as r
    where r.status = 'deferred'
    union all
    select r.workspace_id, r.agent_id, r.status, r.requested_at
    from dispatch.run as r
    where r.status in ('dispatched', 'waiting_local_directory', 'running')
)
select
    u.workspace_id,
    u.agent_id,
    u.status,
    count(*) as runs,
    min(u.requested_at) as oldest_requested_at
from unfinished as u
group by u.workspace_id, u.agent_id, u.status;

comment on view dispatch.queue_depth is
$doc$How many runs that have not ended each agent has, by status, and since when the oldest
asks.$doc$;
-- end sql/50_views/queue_depth.sql

-- begin sql/50_views/runs.sql
create or replace view dispatch.runs as
select
    r.id,
    r.workspace_id,
    r.agent_id,
    r.runtime_id,
    r.issue_id,
    d.chat_session_id,
    d.autopilot_run_id,
    d.reason,
    d.payload,
    d.idempotency_key,
    r.status,
    r.priority,
    r.requested_at,
    r.fire_at,
    r.dispatched_at,
    r.lease_expires_at,
    r.started_at,
    r.finished_at,
    r.claim_no,
    r.attempt,
    r.max_attempts,
    d.parent_run_id,
    d.rerun_of_run_id,
    d.escalation_for_run_id,
    d.delegated_from_run_id,
    d.source,
    d.comment_id,
    r.lane,
    d.coalesced_count,
    d.actor_type,
    d.actor_id,
    d.originator_id,
    d.accountable_id,
    d.attribution_source,
    d.evidence_kind,
    d.evidence_id,
    d.is_leader_run,
    d.squad_id,
    d.handoff_note,
    d.force_fresh,
    d.session_id,
    d.work_dir,
    d.result,
    d.failure_reason,
    d.error,
    case when r.status = 'waiting_local_directory' then d.wait_reason end as wait_reason,
    d.follow_up_run_id
from dispatch.run as r
inner join dispatch.run_detail as d on d.workspace_id = r.workspace_id and d.run_id = r.id;

comment on view dispatch.runs is
$doc$Every run, where it stands and what was asked and came of it.$doc$;
comment on column dispatch.runs.wait_reason is
$doc$Why the run waits; NULL unless it does.$doc$;
-- end sql/50_views/runs.sql

-- begin sql/90_grants/10_roles.sql
-- Roles belong to the whole server. Each is made only where it is missing, so that an
-- administrator may make them beforehand for a migrator that may not. Two databases of one
-- server may be migrated at once: whoever comes second finds the role made.
do $do$
declare
    v_role record;
begin
    for v_role in
        select r.name, r.purpose
        from (
            values
                ('dispatch_owner', 'Owns schema dispatch; its functions act as it.'),
                ('dispatch_service', 'Writes issues, wakes and the directory, and reads.'),
                ('dispatch_worker', 'Claims runs and reports on them.'),
                ('dispatch_operator', 'Steps in by hand, and reads.'),
                ('dispatch_reader', 'Reads the views.')
        ) as r (name, purpose)
        where not exists (select from pg_catalog.pg_roles as p where p.rolname = r.name)
    loop
        begin
            -- A role's name and comment cannot be parameters of these statements.
            execute format('create role %I nologin', v_role.name);
            -- A role's name and comment cannot be parameters of these statements.
            execute format('comment on role %I is %L', v_role.name, v_role.purpose);
        exception
            when duplicate_object or unique_violation then
                null;
        end;
    end loop;
end;
$do$;

-- Giving objects to a role takes membership in it. A superuser has that without a grant; a
-- migrator that made the role itself has from 16 on only the right to grant it, hence the
-- second question.
do $do$
declare
    v_is_member boolean := pg_has_role(current_user, 'dispatch_owner', 'usage');
begin
    if v_is_member and current_setting('server_version_num')::integer >= 160000 then
        v_is_member := pg_has_role(current_user, 'dispatch_owner', 'set');
    end if;
    if not v_is_member then
        grant dispatch_owner to current_user;
    end if;
end;
$do$;
-- end sql/90_grants/10_roles.sql

-- begin sql/90_grants/20_grants.sql
-- Everything of the schema belongs to dispatch_owner, which is no superuser and cannot log in.
-- The schema comes first: who is given an object must be allowed to create in its schema.
alter schema dispatch owner to dispatch_owner;

do $do$
declare
    v_statement text;
begin
    for v_statement in
        select format('alter %s %s owner to dispatch_owner', o.kind, o.name)
        from (
            -- An index belongs to whom its table belongs to, a table's row type likewise.
            select
                case c.relkind when 'v' then 'view' when 'S' then 'sequence' else 'table' end
                as kind,
                c.oid::regclass::text as name,
                c.relowner as owner
            from pg_catalog.pg_class as c
            where c.relnamespace = 'dispatch'::regnamespace
                and c.relkind in ('r', 'p', 'v', 'S')
            union all
            select 'type', t.oid::regtype::text, t.typowner
            from pg_catalog.pg_type as t
            left join pg_catalog.pg_class as c on c.oid = t.typrelid
            where t.typnamespace = 'dispatch'::regnamespace
                and (t.typtype in ('e', 'd') or c.relkind = 'c')
            union all
            select 'routine', p.oid::regprocedure::text, p.proowner
            from pg_catalog.pg_proc as p
            where p.pronamespace = 'dispatch'::regnamespace
        ) as o
        where o.owner <> 'dispatch_owner'::regrole
    loop
        -- Which objects there are is only known to the catalog.
        execute v_statement;
    end loop;
end;
$do$;

-- What is not granted below is nobody's, whatever was granted before.
revoke all on schema dispatch
from public, dispatch_service, dispatch_worker, dispatch_operator, dispatch_reader;
revoke all on all tables in schema dispatch
from public, dispatch_service, dispatch_worker, dispatch_operator, dispatch_reader;
revoke all on all routines in schema dispatch
from public, dispatch_service, dispatch_worker, dispatch_operator, dispatch_reader;

do $do$
declare
    v_type text;
begin
    for v_type in
        select t.oid::regtype::text
        from pg_catalog.pg_type as t
        left join pg_catalog.pg_class as c on c.oid = t.typrelid
        where t.typnamespace = 'dispatch'::regnamespace
            and (t.typtype in ('e', 'd') or c.relkind = 'c')
    loop
        -- Unlike tables and routines, types have no form of this statement for a whole schema.
        execute format(
            'revoke all on type %s from public, dispatch_service, dispatch_worker, '
            'dispatch_operator, dispatch_reader',
            v_type
        );
    end loop;
end;
$do$;

grant usage on schema dispatch
to dispatch_service, dispatch_worker, dispatch_operator, dispatch_reader;
grant usage on type
    dispatch.outcome,
    dispatch.run_status,
    dispatch.reason_code,
    dispatch.decision,
    dispatch.issue_write,
    dispatch.preview,
    dispatch.explanation,
    dispatch.transition,
    dispatch.claimed_run,
    dispatch.comment_answer
to dispatch_service, dispatch_worker, dispatch_operator, dispatch_reader;

-- Views read their tables as their owner, but call the clock and the constants as the reader.
grant select on
    dispatch.runs,
    dispatch.queue_depth,
    dispatch.gate_counters
to dispatch_service, dispatch_operator, dispatch_reader;
grant execute on function
    dispatch.clock,
    dispatch.allowance_limit,
    dispatch.allowance_window,
    dispatch.batch_limit,
    dispatch.claim_batch_limit,
    dispatch.claim_recovery_window,
    dispatch.coalesce_window,
    dispatch.dispatch_timeout,
    dispatch.document_limit,
    dispatch.duplicate_window,
    dispatch.error_limit,
    dispatch.escalation_delay,
    dispatch.gate_event_retention,
    dispatch.key_limit,
    dispatch.max_delay,
    dispatch.max_lease,
    dispatch.name_limit,
    dispatch.occurrence_lateness,
    dispatch.prepare_lease,
    dispatch.preview_limit,
    dispatch.queued_ttl,
    dispatch.reason_limit,
    dispatch.reconnect_grace,
    dispatch.run_retention,
    dispatch.running_timeout,
    dispatch.runtime_freshness,
    dispatch.trigger_budget,
    dispatch.wake_channel
to dispatch_service, dispatch_worker, dispatch_operator, dispatch_reader;

-- The directory. Only a daemon, which is a worker, speaks for its runtimes while it runs.
grant execute on function
    dispatch.put_workspace,
    dispatch.delete_workspace,
    dispatch.put_member,
    dispatch.remove_member,
    dispatch.put_team,
    dispatch.put_team_member,
    dispatch.remove_team_member,
    dispatch.put_runtime,
    dispatch.put_agent,
    dispatch.bind_agent,
    dispatch.archive_agent,
    dispatch.can_invoke_agent,
    dispatch.grant_invoke,
    dispatch.revoke_invoke,
    dispatch.put_squad,
    dispatch.archive_squad
to dispatch_service;
grant execute on function dispatch.set_agent_status to dispatch_service, dispatch_operator;
grant execute on function
    dispatch.heartbeat,
    dispatch.set_runtime_offline
to dispatch_service, dispatch_worker;

-- Issues and wakes.
grant execute on function
    dispatch.create_issue,
    dispatch.update_issue,
    dispatch.update_issues,
    dispatch.delete_issue,
    dispatch.add_comment,
    dispatch.edit_comment,
    dispatch.delete_comment,
    dispatch.preview_create,
    dispatch.preview_update,
    dispatch.queue_wake,
    dispatch.queue_wakes
to dispatch_service;
-- Who may read why an issue stands still must be able to name it.
grant execute on function
    dispatch.resolve_issue,
    dispatch.explain_issue
to dispatch_service, dispatch_operator, dispatch_reader;
grant execute on function dispatch.read_payload to dispatch_service, dispatch_worker;

-- Claims and reports.
grant execute on function
    dispatch.claim_run,
    dispatch.claim_runs,
    dispatch.start_run,
    dispatch.wait_run,
    dispatch.extend_lease,
    dispatch.defer_run,
    dispatch.complete_run,
    dispatch.fail_run,
    dispatch.requeue_run,
    dispatch.start_runs,
    dispatch.complete_runs,
    dispatch.fail_runs
to dispatch_worker;
grant execute on function dispatch.cancel_run
to dispatch_service, dispatch_worker, dispatch_operator;

-- A pause is decided by hand, so the service that writes issues has no part in it.
grant execute on function
    dispatch.pause_workspace,
    dispatch.resume_workspace
to dispatch_operator;

-- Recovery.
grant execute on function
    dispatch.reclaim_runs,
    dispatch.promote_deferred,
    dispatch.recover_runtime
to dispatch_worker, dispatch_operator;

-- A rerun is an act of a member, for whom the service vouches. What goes over all workspaces is
-- the operator's.
grant execute on function dispatch.rerun to dispatch_service, dispatch_operator;
grant execute on function
    dispatch.sweep,
    dispatch.tick
to dispatch_operator;
-- end sql/90_grants/20_grants.sql

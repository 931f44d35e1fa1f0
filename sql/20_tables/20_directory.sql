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

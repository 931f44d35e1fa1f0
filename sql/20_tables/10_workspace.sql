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

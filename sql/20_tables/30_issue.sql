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

begin;
select plan(5);

-- What callers may rely on, in their words: the name, the arguments by name and type in order,
-- those in brackets with a default, and what comes back.
create temporary table contract (name text primary key, arguments text, result text);

insert into contract (name, arguments, result)
values
    (
        'put_workspace',
        'p_workspace_id uuid, p_name text, [p_issue_prefix text], [p_attribution_policy text]',
        'void'
    ),
    ('delete_workspace', 'p_workspace_id uuid, $actor', 'integer'),
    (
        'put_member',
        'p_workspace_id uuid, p_user_id uuid, p_name text, [p_role text]',
        'void'
    ),
    ('remove_member', 'p_workspace_id uuid, p_user_id uuid', 'void'),
    ('put_team', 'p_workspace_id uuid, p_team_id uuid, p_name text', 'void'),
    ('put_team_member', 'p_workspace_id uuid, p_team_id uuid, p_user_id uuid', 'void'),
    ('remove_team_member', 'p_workspace_id uuid, p_team_id uuid, p_user_id uuid', 'void'),
    (
        'put_runtime',
        'p_workspace_id uuid, p_runtime_id uuid, p_daemon_id text, [p_name text]',
        'void'
    ),
    (
        'put_agent',
        'p_workspace_id uuid, p_agent_id uuid, p_name text, p_owner_id uuid, '
        '[p_runtime_id uuid], [p_permission text], [p_max_concurrent_runs integer]',
        'void'
    ),
    ('set_agent_status', 'p_workspace_id uuid, p_agent_id uuid, p_status text', 'void'),
    ('bind_agent', 'p_workspace_id uuid, p_agent_id uuid, p_runtime_id uuid', 'void'),
    ('archive_agent', 'p_workspace_id uuid, p_agent_id uuid', 'integer'),
    (
        'grant_invoke',
        'p_workspace_id uuid, p_agent_id uuid, p_target_type text, [p_target_id uuid]',
        'void'
    ),
    (
        'revoke_invoke',
        'p_workspace_id uuid, p_agent_id uuid, p_target_type text, [p_target_id uuid]',
        'void'
    ),
    (
        'put_squad',
        'p_workspace_id uuid, p_squad_id uuid, p_name text, p_leader_id uuid',
        'void'
    ),
    ('archive_squad', 'p_workspace_id uuid, p_squad_id uuid', 'void'),
    ('heartbeat', 'p_workspace_id uuid, p_runtime_ids uuid[]', 'integer'),
    (
        'set_runtime_offline',
        'p_workspace_id uuid, p_runtime_id uuid, [p_reason text]',
        'void'
    ),
    (
        'can_invoke_agent',
        'p_workspace_id uuid, p_agent_id uuid, $actor, [p_originator_id uuid]',
        'boolean'
    ),
    (
        'create_issue',
        'p_workspace_id uuid, p_title text, $actor, [p_status text], [p_priority text], '
        '[p_assignee_type text], [p_assignee_id uuid], [p_issue_id uuid], '
        '[p_handoff_note text], [p_suppress_run boolean], [p_parent_id uuid], '
        '[p_stage integer]',
        'dispatch.issue_write'
    ),
    (
        'update_issue',
        'p_workspace_id uuid, p_issue_id uuid, p_changes jsonb, $actor, '
        '[p_handoff_note text], [p_suppress_run boolean]',
        'dispatch.issue_write'
    ),
    (
        'update_issues',
        'p_workspace_id uuid, p_issue_ids uuid[], p_changes jsonb, $actor, '
        '[p_handoff_note text], [p_suppress_run boolean]',
        'SETOF dispatch.issue_write'
    ),
    ('delete_issue', 'p_workspace_id uuid, p_issue_id uuid, $actor', 'integer'),
    (
        'add_comment',
        'p_workspace_id uuid, p_issue_id uuid, p_body text, $actor, [p_mentions jsonb], '
        '[p_parent_id uuid]',
        'SETOF dispatch.comment_answer'
    ),
    (
        'edit_comment',
        'p_workspace_id uuid, p_comment_id uuid, p_body text, $actor, [p_mentions jsonb]',
        'SETOF dispatch.comment_answer'
    ),
    (
        'delete_comment', 'p_workspace_id uuid, p_comment_id uuid, $actor',
        'SETOF dispatch.comment_answer'
    ),
    (
        'preview_create', 'p_workspace_id uuid, p_changes jsonb, $actor',
        'SETOF dispatch.preview'
    ),
    (
        'preview_update', 'p_workspace_id uuid, p_issue_ids uuid[], p_changes jsonb, $actor',
        'SETOF dispatch.preview'
    ),
    ('resolve_issue', 'p_workspace_id uuid, p_reference text', 'uuid'),
    ('explain_issue', 'p_workspace_id uuid, p_issue_id uuid', 'SETOF dispatch.explanation'),
    (
        'queue_wake',
        'p_workspace_id uuid, p_agent_id uuid, p_reason text, [p_payload jsonb], '
        '[p_idempotency_key text], [p_issue_id uuid], [p_chat_session_id uuid], '
        '[p_priority integer], [p_fire_at timestamp with time zone], '
        '[p_originator_id uuid], [p_actor_type text], [p_actor_id uuid], '
        '[p_acting_run_id uuid], [p_coalesce boolean], [p_max_attempts integer]',
        'dispatch.decision'
    ),
    ('queue_wakes', 'p_workspace_id uuid, p_wakes jsonb', 'SETOF dispatch.decision'),
    ('read_payload', 'p_text text', 'jsonb'),
    (
        'claim_run',
        'p_workspace_id uuid, p_agent_id uuid, [p_runtime_id uuid]',
        'SETOF dispatch.claimed_run'
    ),
    (
        'claim_runs',
        'p_workspace_id uuid, p_runtime_ids uuid[], [p_max integer], [p_per_agent integer], '
        '[p_start boolean], [p_lease interval]',
        'SETOF dispatch.claimed_run'
    ),
    (
        'start_run',
        'p_workspace_id uuid, p_run_id uuid, p_claim_no integer, [p_lease interval]',
        'dispatch.transition'
    ),
    (
        'wait_run',
        'p_workspace_id uuid, p_run_id uuid, p_claim_no integer, p_wait_reason text',
        'dispatch.transition'
    ),
    (
        'extend_lease',
        'p_workspace_id uuid, p_run_id uuid, p_claim_no integer, [p_lease interval]',
        'dispatch.transition'
    ),
    (
        'defer_run',
        'p_workspace_id uuid, p_run_id uuid, p_claim_no integer, '
        'p_until timestamp with time zone',
        'dispatch.transition'
    ),
    (
        'complete_run',
        'p_workspace_id uuid, p_run_id uuid, p_claim_no integer, [p_result jsonb], '
        '[p_session_id text], [p_work_dir text], [p_session_lost boolean]',
        'dispatch.transition'
    ),
    (
        'fail_run',
        'p_workspace_id uuid, p_run_id uuid, p_claim_no integer, [p_failure_reason text], '
        '[p_error text], [p_session_id text], [p_work_dir text], [p_session_lost boolean]',
        'dispatch.transition'
    ),
    (
        'requeue_run',
        'p_workspace_id uuid, p_run_id uuid, p_claim_no integer',
        'dispatch.transition'
    ),
    (
        'cancel_run',
        'p_workspace_id uuid, p_run_id uuid, $actor, [p_reason text]',
        'dispatch.transition'
    ),
    ('start_runs', 'p_workspace_id uuid, p_reports jsonb', 'SETOF dispatch.transition'),
    ('complete_runs', 'p_workspace_id uuid, p_reports jsonb', 'SETOF dispatch.transition'),
    ('fail_runs', 'p_workspace_id uuid, p_reports jsonb', 'SETOF dispatch.transition'),
    (
        'reclaim_runs',
        'p_workspace_id uuid, p_runtime_ids uuid[], [p_max integer]',
        'SETOF dispatch.claimed_run'
    ),
    (
        'promote_deferred',
        'p_workspace_id uuid, [p_runtime_ids uuid[]], [p_max integer]',
        'integer'
    ),
    ('recover_runtime', 'p_workspace_id uuid, p_runtime_id uuid', 'SETOF dispatch.transition'),
    ('rerun', 'p_workspace_id uuid, p_run_id uuid, $actor', 'dispatch.decision'),
    ('sweep', '[p_max integer], [p_only text]', 'SETOF record'),
    ('tick', '[p_only text]', 'SETOF record'),
    ('pause_workspace', 'p_workspace_id uuid, $actor, [p_reason text]', 'boolean'),
    ('resume_workspace', 'p_workspace_id uuid, $actor, [p_reason text]', 'boolean'),
    ('clock', '', 'timestamp with time zone');

-- After p_actor_type, which has no default, p_actor_id and p_acting_run_id have one, and so an
-- argument without default cannot follow them.
update contract as c
set arguments = replace(
    c.arguments, '$actor', 'p_actor_type text, [p_actor_id uuid], [p_acting_run_id uuid]'
);

create temporary view actual as
select
    p.oid,
    p.proname::text as name,
    (
        select coalesce(string_agg(
            case when a.position > p.pronargs - p.pronargdefaults then '[' else '' end
            || p.proargnames[a.position] || ' ' || format_type(a.type, null)
            || case when a.position > p.pronargs - p.pronargdefaults then ']' else '' end,
            ', ' order by a.position
        ), '')
        from unnest(p.proargtypes::oid[]) with ordinality as a (type, position)
    ) as arguments,
    pg_catalog.pg_get_function_result(p.oid) as result
from pg_catalog.pg_proc as p
where p.pronamespace = 'dispatch'::regnamespace;

select is_empty(
    $$
    select c.name from contract as c
    where not exists (select from actual as a where a.name = c.name)
    $$,
    'every function of the contract exists'
);
select is_empty(
    $$
    select a.name from actual as a group by a.name having count(*) > 1
    $$,
    'no function is overloaded: a call by name must not be ambiguous'
);
-- More arguments may come at the end, with a default.
select is_empty(
    $$
    select c.name, c.arguments, a.arguments
    from contract as c
    join actual as a on a.name = c.name
    where a.arguments <> c.arguments and a.arguments not like c.arguments || ', [%'
    $$,
    'the arguments have their names, types, order and defaults'
);
select is_empty(
    $$
    select c.name, c.result, a.result
    from contract as c
    join actual as a on a.name = c.name
    where a.result <> c.result
    $$,
    'the results have their types'
);
select is_empty(
    $$
    select a.name
    from actual as a
    where a.name not like '\_%'
        and a.arguments <> ''
        and a.name not in ('will_enqueue_run')
        and not exists (select from contract as c where c.name = a.name)
    $$,
    'nothing else is public'
);

select * from finish();
rollback;

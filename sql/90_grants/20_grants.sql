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
